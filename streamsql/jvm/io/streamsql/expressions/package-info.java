/** Spark columns that call our objects, and the objects that they call. */
package io.streamsql.expressions;
