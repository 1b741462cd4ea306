package io.streamsql.source;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.formats.Json;
import io.streamsql.monitoring.ProcessingLog;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Finds records of a topic that Kafka has deleted before a query read them: where a batch begins
 * before the log does, beyond its end, or in a topic that was made anew since. Either the query
 * stops, or it says so in the processing log and goes on with what there is.
 *
 * <p>Gaps within the log (compaction, markers of transactions) are none of this. What is deleted
 * while a batch reads makes the batch fail; the next try finds it here.
 */
final class DataLoss {
  private static final long UNKNOWN = -1;

  private final String topic;
  private final TopicLog.Logs logs;
  private final TopicIdentity identity;
  private final boolean exactlyOnce;

  /** Where it is noted; null: the query stops. */
  private final ProcessingLog log;

  /** What was looked at last in this round, and what came of it. */
  private String seen = "";

  private String result = "";

  /**
   * @param log where lost records are noted while the query goes on; null: it stops
   * @param exactlyOnce whether rows that were committed are told by their records' offsets
   */
  DataLoss(
      String topic,
      TopicLog.Logs logs,
      TopicIdentity identity,
      ProcessingLog log,
      boolean exactlyOnce) {
    this.topic = topic;
    this.logs = logs;
    this.identity = identity;
    this.log = log;
    this.exactlyOnce = exactlyOnce;
  }

  /**
   * Where a batch can begin that is to begin at these offsets (Spark's JSON), and ends at others
   * (null: that is not known yet). Throws {@link DataLossException} if the query is to stop.
   */
  synchronized String begin(String start, String end) {
    String batch = start + end;
    if (!batch.equals(seen)) {
      result = look(start, end);
      seen = batch;
    }
    return result;
  }

  /** A round has ended: whatever begins next is looked at, be it at the same offsets. */
  synchronized void ended() {
    seen = "";
  }

  /** Kafka's id of the topic that the last batch was found to begin in; null: not known. */
  synchronized String topicId() {
    return identity.id();
  }

  /** A batch has been committed. */
  synchronized void committed() {
    identity.committed();
  }

  private String look(String start, String end) {
    Map<Integer, Long> from = offsets(start);
    Map<Integer, Long> until = end == null ? Map.of() : offsets(end);
    Set<Integer> partitions = new TreeSet<>(from.keySet());
    partitions.addAll(until.keySet());
    TopicLog there = ask(partitions);
    if (there == null) {
      return start; // Spark says that there is no such topic.
    }
    boolean other = identity.isOther(there.id(), start);
    Map<Integer, Long> begins = new TreeMap<>();
    List<Lost> lost = new ArrayList<>();
    for (Integer partition : partitions) {
      // A partition that is new has been read up to its beginning.
      long next = from.getOrDefault(partition, 0L);
      long begin = place(partition, next, other, there, lost);
      begins.put(partition, Math.min(begin, until.getOrDefault(partition, begin)));
    }
    if (!lost.isEmpty()) {
      report(lost, other);
    }
    identity.goesOn(there.id(), other && !lost.isEmpty() ? start : null);
    return lost.isEmpty() ? start : json(begins);
  }

  private long place(int partition, long next, boolean other, TopicLog there, List<Lost> lost) {
    Long begin = there.begins().get(partition);
    if (begin == null) {
      return next; // Spark says what it makes of a partition that is gone.
    }
    long end = there.ends().get(partition);
    if (other || (next > end && identity.isUnknown())) {
      if (next != begin) {
        lost.add(new Lost(partition, next, UNKNOWN, "the topic was deleted and recreated"));
      }
      return begin;
    }
    if (next > end) {
      lost.add(new Lost(partition, next, UNKNOWN, "the log was cut off at offset " + end));
      return end;
    }
    if (next < begin) {
      String range = "[" + next + ", " + begin + ")";
      lost.add(
          new Lost(partition, next, begin - next, "offsets " + range + " were deleted from Kafka"));
      return begin;
    }
    return next;
  }

  private void report(List<Lost> lost, boolean other) {
    String found =
        "records of topic "
            + topic
            + " were lost before the query read them: "
            + lost.stream().map(Lost::toString).collect(Collectors.joining("; "));
    if (log == null) {
      throw new DataLossException(
          found
              + ". To go on without them, SET 'streamsql.on.data.loss' = 'continue' and RESUME the"
              + " query, or create it again");
    }
    if (other && exactlyOnce) {
      throw new DataLossException(
          found
              + ". With exactly_once the query cannot continue in another topic, whose offsets mean"
              + " other records: DROP it and create it again");
    }
    for (Lost part : lost) {
      Long records = part.records == UNKNOWN ? null : part.records;
      log.dataLoss(topic, part.partition, part.first, records, part.why);
    }
  }

  private TopicLog ask(Set<Integer> partitions) {
    try {
      return logs.of(topic, partitions);
    } catch (InterruptedException stopped) {
      throw new UncheckedIOException(new InterruptedIOException("stopped while it began a batch"));
    }
  }

  private Map<Integer, Long> offsets(String json) {
    Map<Integer, Long> found = new HashMap<>();
    try {
      Json.TREES
          .readTree(json)
          .path(topic)
          .properties()
          .forEach(e -> found.put(Integer.valueOf(e.getKey()), e.getValue().asLong()));
    } catch (IOException e) {
      throw new UncheckedIOException("not offsets: " + json, e);
    }
    return found;
  }

  private String json(Map<Integer, Long> offsets) {
    ObjectNode partitions = Json.TREES.createObjectNode();
    offsets.forEach((partition, offset) -> partitions.put(partition.toString(), offset));
    return Json.TREES.createObjectNode().set(topic, partitions).toString();
  }

  /** What is lost of one partition, from the first record that was not read. */
  private record Lost(int partition, long first, long records, String why) {
    @Override
    public String toString() {
      return "partition " + partition + ", expected offset " + first + ": " + why;
    }
  }

  /** Records that a query was to read are there no more. */
  static final class DataLossException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    DataLossException(String message) {
      super(message);
    }
  }
}
