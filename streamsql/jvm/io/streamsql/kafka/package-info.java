/** Kafka's own clients and its broker, apart from Spark. */
package io.streamsql.kafka;
