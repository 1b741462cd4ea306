/** Formats of change data capture: changes of a database's rows as tools write them to Kafka. */
package io.streamsql.formats.changes;
