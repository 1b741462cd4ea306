/** Databases outside Kafka: connections, their drivers and secrets, and retries. */
package io.streamsql.databases;
