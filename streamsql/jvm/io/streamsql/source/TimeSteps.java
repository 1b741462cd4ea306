package io.streamsql.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.formats.Json;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * The ends of the micro-batches in which a query catches up with several topics: all topics advance
 * together in time.
 *
 * <p>Within a batch rows are ordered by event time. Batches with an equal number of records per
 * topic would read all of a small topic before half of a large one, whose other half would then be
 * late. So each step ends at one time in all partitions: at the earliest one that a partition's
 * share of the batch's records reaches. It is found by bisection, as time grows in a log; records
 * out of order are as late as they would have been, and at most by a step.
 */
public final class TimeSteps implements AutoCloseable {
  /** The minimum share of a partition. */
  private static final int LEAST_SHARE = 10;

  /** Ranges of this size are scanned. */
  private static final long NEAR = 48;

  /** Knows the event times of the records of a log. */
  interface Times extends AutoCloseable {
    /** The first records from an offset on; at least one if there is one before the end. */
    List<RecordTimes.Timed> from(TopicPartition partition, long offset, long end);

    @Override
    void close();
  }

  private final Times times;
  private final Map<TopicPartition, Long> ends;
  private final long most;
  private Map<TopicPartition, Long> at;

  TimeSteps(
      Times times, Map<TopicPartition, Long> starts, Map<TopicPartition, Long> ends, long most) {
    this.times = times;
    this.ends = ends;
    this.most = most;
    at = new HashMap<>(ends);
    at.replaceAll((partition, end) -> Math.min(end, starts.getOrDefault(partition, 0L)));
  }

  /**
   * The steps of a query. They hold a Kafka consumer until the last step, or until they are closed.
   *
   * @param settings of that
   * @param clocks see {@link RecordTimes}
   * @param starts of the first batch, as Spark's JSON, with all partitions
   * @param most records of a batch
   */
  public static TimeSteps of(
      Map<String, Object> settings,
      Map<String, UnaryOperator<Iterator<InternalRow>>> clocks,
      String starts,
      String ends,
      long most) {
    return new TimeSteps(new RecordTimes(settings, clocks), parsed(starts), parsed(ends), most);
  }

  /** The end of the next batch, as Spark's JSON; after the last one, the same end. */
  JsonNode next() {
    at = after(at);
    if (left(at) == 0) {
      close();
    }
    return json(at);
  }

  @Override
  public void close() {
    times.close();
  }

  private long left(Map<TopicPartition, Long> at) {
    return ends.entrySet().stream().mapToLong(e -> e.getValue() - at.get(e.getKey())).sum();
  }

  private Map<TopicPartition, Long> after(Map<TopicPartition, Long> at) {
    long left = left(at);
    if (left <= most) {
      return ends;
    }
    Map<TopicPartition, Long> reach = new HashMap<>();
    long time = Long.MAX_VALUE;
    long least = Math.max(1, most / LEAST_SHARE / ends.size());
    for (Map.Entry<TopicPartition, Long> each : ends.entrySet()) {
      long begin = at.get(each.getKey());
      long share = (long) ((double) most * (each.getValue() - begin) / left);
      long end = Math.min(each.getValue(), begin + Math.max(least, share));
      reach.put(each.getKey(), end);
      if (end < each.getValue()) {
        time = Math.min(time, timeAt(each.getKey(), end));
      }
    }
    Map<TopicPartition, Long> found = new HashMap<>();
    for (Map.Entry<TopicPartition, Long> each : reach.entrySet()) {
      long begin = at.get(each.getKey());
      found.put(each.getKey(), firstLater(each.getKey(), begin, each.getValue(), time));
    }
    // If times do not help, as in a log that is out of order throughout, all advance.
    return found.equals(at) ? reach : found;
  }

  /** The time of the first record from there on; the maximum if there is none. */
  private long timeAt(TopicPartition partition, long offset) {
    List<RecordTimes.Timed> found = times.from(partition, offset, ends.get(partition));
    return found.isEmpty() ? Long.MAX_VALUE : found.get(0).time();
  }

  /** The offset of the first record in the range with a later time; its end if there is none. */
  private long firstLater(TopicPartition partition, long begin, long end, long time) {
    long low = begin;
    long high = end;
    while (high - low > NEAR) {
      long middle = low + (high - low) / 2;
      if (timeAt(partition, middle) > time) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    while (low < high) {
      List<RecordTimes.Timed> found = times.from(partition, low, high);
      if (found.isEmpty()) {
        return high;
      }
      for (RecordTimes.Timed record : found) {
        if (record.time() > time) {
          return record.offset();
        }
        low = record.offset() + 1;
      }
    }
    return high;
  }

  private static Map<TopicPartition, Long> parsed(String offsets) {
    Map<TopicPartition, Long> found = new HashMap<>();
    for (Map.Entry<String, JsonNode> topic : ReadUntil.parsed(offsets).properties()) {
      for (Map.Entry<String, JsonNode> each : topic.getValue().properties()) {
        int partition = Integer.parseInt(each.getKey());
        found.put(new TopicPartition(topic.getKey(), partition), each.getValue().asLong());
      }
    }
    return found;
  }

  private static JsonNode json(Map<TopicPartition, Long> offsets) {
    ObjectNode all = Json.TREES.createObjectNode();
    offsets.forEach(
        (partition, offset) ->
            all.withObjectProperty(partition.topic())
                .put(Integer.toString(partition.partition()), offset));
    return all;
  }
}
