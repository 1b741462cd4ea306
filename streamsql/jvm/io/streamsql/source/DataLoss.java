package io.streamsql.source;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
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
 * Detects records that Kafka deleted before a query read them: a batch begins before the log,
 * beyond its end, or in a topic that was recreated since. The query stops, or reports the loss to
 * the processing log and continues with the existing records.
 *
 * <p>Gaps within the log (compaction, transaction markers) are no loss. A deletion while a batch
 * reads fails the batch; the retry detects it here.
 */
final class DataLoss {
  private static final long UNKNOWN = -1;

  private final String topic;
  private final TopicLog.Logs logs;
  private final TopicIdentity identity;
  private final boolean exactlyOnce;

  /** The log for losses; null: the query stops. */
  private final ProcessingLog log;

  /** The last check of this round, and its result. */
  private String seen = "";

  private String result = "";

  /**
   * @param log receives lost records while the query continues; null: it stops
   * @param exactlyOnce whether committed rows are recognized by their records' offsets
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
   * The possible start of a batch that should begin at these offsets (Spark's JSON), and end at
   * others (null: not known yet). Throws {@link CodedException} if the query has to stop.
   */
  synchronized String begin(String start, String end) {
    String batch = start + end;
    if (!batch.equals(seen)) {
      result = look(start, end);
      seen = batch;
    }
    return result;
  }

  /** Ends a round: the next start is checked even at the same offsets. */
  synchronized void ended() {
    seen = "";
  }

  /** Kafka's id of the topic in which the last batch begins; null: unknown. */
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
      return start; // Spark reports that the topic does not exist.
    }
    boolean other = identity.isOther(there.id(), start);
    Map<Integer, Long> begins = new TreeMap<>();
    List<Lost> lost = new ArrayList<>();
    for (Integer partition : partitions) {
      // A new partition counts as read up to its beginning.
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
      return next; // Spark reports a deleted partition.
    }
    long end = there.ends().get(partition);
    if (other || (next > end && identity.isUnknown())) {
      if (next != begin) {
        lost.add(new Lost(partition, next, UNKNOWN, "the topic was deleted and recreated"));
      }
      return begin;
    }
    if (next > end) {
      lost.add(new Lost(partition, next, UNKNOWN, "the log was truncated at offset " + end));
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
      throw lost(
          found
              + ". To continue without them, SET 'streamsql.on.data.loss' = 'continue' and RESUME"
              + " the query, or create it again");
    }
    if (other && exactlyOnce) {
      throw lost(
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
      throw new UncheckedIOException(new InterruptedIOException("stopped at the start of a batch"));
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

  /** The lost records of one partition, from the first one that was not read. */
  private record Lost(int partition, long first, long records, String why) {
    @Override
    public String toString() {
      return "partition " + partition + ", expected offset " + first + ": " + why;
    }
  }

  private CodedException lost(String message) {
    return new CodedException(ErrorCode.DATA_LOSS, message, Map.of("topic", topic));
  }
}
