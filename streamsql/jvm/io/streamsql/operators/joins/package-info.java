/** Joins of streams and tables. */
package io.streamsql.operators.joins;
