/** Kafka records into rows, and rows into Kafka: what Spark's own connector cannot do. */
package io.streamsql.connector;
