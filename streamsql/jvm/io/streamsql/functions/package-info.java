/**
 * SQL functions that Spark lacks: static methods for {@code Expressions.invoke}, and aggregates.
 */
package io.streamsql.functions;
