package io.streamsql.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.formats.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Offsets that a query reads up to in its micro-batches, and no further; those that run heed it.
 */
public final class ReadUntil {
  private static final Map<String, JsonNode> BOUNDS = new ConcurrentHashMap<>();

  private ReadUntil() {}

  /**
   * From its next batch on a query reads no further.
   *
   * @param offsets as JSON of Spark's; of a topic that is not among them all is read
   */
  public static void set(String query, String offsets) {
    BOUNDS.put(query, parsed(offsets));
  }

  /** A query reads all there is again. */
  public static void clear(String query) {
    BOUNDS.remove(query);
  }

  /**
   * Where a batch from {@code start} ends, both Spark's JSON, that would end at {@code end}. A
   * partition without a bound has come since, and is not read.
   */
  static String bounded(String query, String topic, String start, String end) {
    JsonNode all = BOUNDS.get(query);
    JsonNode bounds = all == null ? null : all.get(topic);
    if (bounds == null) {
      return end;
    }
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
