/** Rows that are looked up by their keys outside of Kafka, in files and databases. */
package io.streamsql.lookups;
