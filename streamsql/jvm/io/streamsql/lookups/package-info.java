/** Lookup tables: rows in files and databases outside Kafka, found by key. */
package io.streamsql.lookups;
