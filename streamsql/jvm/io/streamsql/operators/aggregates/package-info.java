/** Aggregates that Spark cannot keep: sessions, and groups of a table's rows. */
package io.streamsql.operators.aggregates;
