/** Spark columns that call Java objects, and those objects. */
package io.streamsql.expressions;
