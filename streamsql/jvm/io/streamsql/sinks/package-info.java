/** Sinks outside Kafka: files and tables of databases, each batch exactly once. */
package io.streamsql.sinks;
