package io.streamsql.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.formats.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Limits the offsets that a query reads up to in its micro-batches, also while it runs. */
public final class ReadUntil {
  private static final Map<String, JsonNode> BOUNDS = new ConcurrentHashMap<>();

  /** The steps of runs that have not begun. */
  private static final Map<String, Steps> NEXT = new ConcurrentHashMap<>();

  private ReadUntil() {}

  /**
   * Limits a query from its next batch on.
   *
   * @param offsets as Spark's JSON; topics that are missing are unlimited
   */
  public static void set(String query, String offsets) {
    BOUNDS.put(query, parsed(offsets));
  }

  /** Removes the limit of a query. */
  public static void clear(String query) {
    BOUNDS.remove(query);
  }

  /**
   * Makes the batches of a query's next run over the existing records end at these steps, and its
   * last batch at the last step. They are closed with the run.
   */
  public static void inSteps(String query, TimeSteps steps) {
    close(NEXT.put(query, new Steps(steps)));
  }

  /** No run follows that would take the steps. */
  public static void dropSteps(String query) {
    close(NEXT.remove(query));
  }

  /** The steps for a run that begins; null: it has none. */
  static Steps takeSteps(String query) {
    return NEXT.remove(query);
  }

  private static void close(Steps steps) {
    if (steps != null) {
      steps.close();
    }
  }

  /** The steps of one run: each input asks once for a batch. */
  static final class Steps {
    private final TimeSteps steps;
    private final Round round = new Round();
    private JsonNode step;

    Steps(TimeSteps steps) {
      this.steps = steps;
    }

    /**
     * Where a batch ends, as {@link #bounded}.
     *
     * @param input what asks: a query may read a topic twice
     */
    String end(Object input, String topic, String start, String end) {
      return least(asked(input), topic, start, end);
    }

    private synchronized JsonNode asked(Object input) {
      if (round.beginsWith(input)) {
        step = steps.next();
      }
      return step;
    }

    synchronized void close() {
      steps.close();
    }
  }

  /**
   * The end of a batch from {@code start}, both Spark's JSON, that would end at {@code end}. A
   * partition without a limit was added since, and is not read.
   */
  static String bounded(String query, String topic, String start, String end) {
    JsonNode all = BOUNDS.get(query);
    return all == null ? end : least(all, topic, start, end);
  }

  /** The same with these limits, by topic. */
  static String least(JsonNode all, String topic, String start, String end) {
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
