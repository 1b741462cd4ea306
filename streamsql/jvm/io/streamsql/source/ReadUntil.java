package io.streamsql.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.formats.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Offsets that a query reads up to in its micro-batches, and no further; those that run heed it.
 */
public final class ReadUntil {
  private static final Map<String, JsonNode> BOUNDS = new ConcurrentHashMap<>();
  private static final Map<String, Steps> STEPS = new ConcurrentHashMap<>();

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
   * The next run of a query over what is there ends its batches at these steps, and reads no
   * further than the last. They are closed with the run.
   */
  public static void inSteps(String query, TimeSteps steps) {
    Steps before = STEPS.put(query, new Steps(steps));
    if (before != null) {
      before.close();
    }
  }

  /** The run has ended; of another one the batches end where its limit says. */
  public static void atOnce(String query) {
    Steps before = STEPS.remove(query);
    if (before != null) {
      before.close();
    }
  }

  /**
   * Where a batch of a run over what is there ends, as {@link #bounded}, that may be in steps.
   *
   * @param input what asks: a query may read a topic twice
   */
  static String step(String query, Object input, String topic, String start, String end) {
    Steps steps = STEPS.get(query);
    return steps == null ? end : least(steps.asked(input), topic, start, end);
  }

  /** Those of one run: each input asks once for a batch. */
  private static final class Steps {
    private final TimeSteps steps;
    private final Set<Object> asked = new HashSet<>();
    private JsonNode step;

    Steps(TimeSteps steps) {
      this.steps = steps;
    }

    synchronized JsonNode asked(Object input) {
      if (!asked.add(input)) {
        asked.clear();
        asked.add(input);
        step = null;
      }
      if (step == null) {
        step = steps.next();
      }
      return step;
    }

    synchronized void close() {
      steps.close();
    }
  }

  /**
   * Where a batch from {@code start} ends, both Spark's JSON, that would end at {@code end}. A
   * partition without a bound has come since, and is not read.
   */
  static String bounded(String query, String topic, String start, String end) {
    JsonNode all = BOUNDS.get(query);
    return all == null ? end : least(all, topic, start, end);
  }

  private static String least(JsonNode all, String topic, String start, String end) {
    JsonNode bounds = all.get(topic);
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

  static JsonNode parsed(String json) {
    try {
      return Json.TREES.readTree(json);
    } catch (IOException e) {
      throw new UncheckedIOException("not offsets: " + json, e);
    }
  }
}
