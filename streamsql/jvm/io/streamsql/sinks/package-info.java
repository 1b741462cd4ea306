/** Sinks outside Kafka: files, each batch exactly once. */
package io.streamsql.sinks;
