/**
 * Converts Kafka records to rows and rows to records, beyond what Spark's Kafka connector supports.
 */
package io.streamsql.connector;
