/** Where a query's rows go outside of Kafka: files, each batch of them exactly once. */
package io.streamsql.sinks;
