package io.streamsql.monitoring;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * How far each query has read, by topic and partition. Spark tells it only at the end of a batch,
 * which in Real-Time Mode is a minute; here it is known at any moment. It is no commit: what has
 * been read since the last one is read again after a failure.
 */
public final class ReadOffsets {
  private static final Map<String, Map<String, AtomicLong>> NEXT = new ConcurrentHashMap<>();

  /** Queries that write: until then, what is read waits for the tasks behind. */
  private static final Set<String> WRITING = ConcurrentHashMap.newKeySet();

  private ReadOffsets() {}

  /** The tasks that write a query's rows have begun. */
  public static void writes(String queryId) {
    WRITING.add(queryId);
  }

  /** Where a query's reader of one partition notes the offset after the record at hand. */
  static AtomicLong slot(String queryId, UTF8String topic, int partition) {
    return NEXT.computeIfAbsent(queryId, id -> new ConcurrentHashMap<>())
        .computeIfAbsent(topic + "\t" + partition, name -> new AtomicLong());
  }

  /**
   * For {@code Pulse}: a line for each partition of which a query has read a record; none before
   * the query writes.
   */
  public static void addTo(StringBuilder lines) {
    NEXT.forEach(
        (query, places) -> {
          if (WRITING.contains(query)) {
            String begin = "read\t" + query + "\t";
            places.forEach((place, next) -> lines.append(begin + place + "\t" + next.get() + "\n"));
          }
        });
  }

  /** Forgets a query: it has ended, or begins anew. */
  public static void forget(String queryId) {
    NEXT.remove(queryId);
    WRITING.remove(queryId);
  }
}
