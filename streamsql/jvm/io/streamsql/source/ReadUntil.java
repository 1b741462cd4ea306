package io.streamsql.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.formats.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;

/** Offsets of a topic that a query reads up to, and no further. */
final class ReadUntil {
  private final String topic;
  private final JsonNode bounds;

  private ReadUntil(String topic, JsonNode bounds) {
    this.topic = topic;
    this.bounds = bounds;
  }

  /**
   * Those of the topic out of Spark's JSON; null: there are none.
   *
   * @param offsets may be null
   */
  static ReadUntil of(String offsets, String topic) {
    JsonNode bounds = offsets == null ? null : parsed(offsets).get(topic);
    return bounds == null ? null : new ReadUntil(topic, bounds);
  }

  /**
   * Where a batch from {@code start} ends, both Spark's JSON, that would end at {@code end}. A
   * partition without a bound has come since, and is not read.
   */
  String bounded(String start, String end) {
    JsonNode from = parsed(start).path(topic);
    ObjectNode partitions = Json.TREES.createObjectNode();
    for (Map.Entry<String, JsonNode> found : parsed(end).path(topic).properties()) {
      long bound = Math.min(found.getValue().asLong(), bounds.path(found.getKey()).asLong(0));
      partitions.put(found.getKey(), Math.max(bound, from.path(found.getKey()).asLong(0)));
    }
    return Json.TREES.createObjectNode().set(topic, partitions).toString();
  }

  private static JsonNode parsed(String json) {
    try {
      return Json.TREES.readTree(json);
    } catch (IOException e) {
      throw new UncheckedIOException("not offsets: " + json, e);
    }
  }
}
