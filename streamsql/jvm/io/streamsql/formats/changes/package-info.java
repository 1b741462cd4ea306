/** Changes of a database's rows, as tools that capture them write them to Kafka. */
package io.streamsql.formats.changes;
