/** Spark's Kafka source, which costs nothing while a query's topics get no records. */
package io.streamsql.source;
