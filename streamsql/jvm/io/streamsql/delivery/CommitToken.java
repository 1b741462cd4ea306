package io.streamsql.delivery;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * The progress of one task, as the record that its transaction commits states it.
 *
 * @param batch the number of the batch
 * @param complete whether all rows of this task in the batch are committed: true only of a
 *     micro-batch, whose offsets are fixed before it runs
 * @param reached by input partition, the last record that caused a committed row
 */
record CommitToken(long batch, boolean complete, Map<Integer, Reached> reached) {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** The version of the format below. A later version is refused. */
  private static final int VERSION = 1;

  /**
   * @param offset of the record
   * @param rows the number of committed rows that the record caused
   */
  record Reached(long offset, long rows) {
    /** The later of two positions. */
    Reached orLater(Reached other) {
      boolean later = other.offset > offset || (other.offset == offset && other.rows > rows);
      return later ? other : this;
    }
  }

  byte[] toBytes() {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JSON.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", VERSION);
      out.writeNumberField("batch", batch);
      out.writeBooleanField("complete", complete);
      out.writeObjectFieldStart("reached");
      for (Map.Entry<Integer, Reached> entry : reached.entrySet()) {
        out.writeArrayFieldStart(entry.getKey().toString());
        out.writeNumber(entry.getValue().offset);
        out.writeNumber(entry.getValue().rows);
        out.writeEndArray();
      }
      out.writeEndObject();
      out.writeEndObject();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return text.toString().getBytes(StandardCharsets.UTF_8);
  }

  static CommitToken of(byte[] bytes) {
    JsonNode found;
    try {
      found = JSON.readTree(bytes);
    } catch (IOException unreadable) {
      throw new IllegalStateException("a commit token cannot be read", unreadable);
    }
    if (found.path("version").asInt() != VERSION) {
      throw new IllegalStateException(
          "a commit token of version "
              + found.path("version").asText()
              + " was written by a later version of streamsql; this one reads "
              + VERSION
              + ". Nothing has been changed: start the version that wrote it, or a later one.");
    }
    Map<Integer, Reached> reached = new HashMap<>();
    for (Map.Entry<String, JsonNode> entry : found.path("reached").properties()) {
      JsonNode place = entry.getValue();
      reached.put(
          Integer.valueOf(entry.getKey()),
          new Reached(place.path(0).asLong(), place.path(1).asLong()));
    }
    return new CommitToken(
        found.path("batch").asLong(), found.path("complete").asBoolean(), reached);
  }
}
