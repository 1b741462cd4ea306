/** Aggregates that Spark does not support: sessions, OVER, and groups of a table's rows. */
package io.streamsql.operators.aggregates;
