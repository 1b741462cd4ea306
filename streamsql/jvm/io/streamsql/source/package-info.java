/** Spark's Kafka source, without cost while a query's topics get no records. */
package io.streamsql.source;
