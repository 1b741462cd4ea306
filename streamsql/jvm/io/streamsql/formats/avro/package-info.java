/** Avro with a schema registry. */
package io.streamsql.formats.avro;
