/** Kafka's own clients and its broker, independent of Spark. */
package io.streamsql.kafka;
