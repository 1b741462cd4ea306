package io.streamsql.monitoring;

import io.streamsql.runs.QueryRun;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * How far a run of a query has read, by topic and partition. Spark tells it only at the end of a
 * batch, which in real-time mode is a minute; here it is known at any moment. It is no commit: what
 * has been read since the last one is read again after a failure.
 */
public final class ReadOffsets implements QueryRun.Part {
  private final Map<String, Map<Integer, AtomicLong>> next = new ConcurrentHashMap<>();

  /** Whether the run writes: until then, what is read waits for the tasks behind. */
  private volatile boolean writes;

  private ReadOffsets() {}

  /** Those of the calling task's run, or null. */
  private static ReadOffsets current() {
    QueryRun run = QueryRun.current();
    return run == null ? null : run.own(ReadOffsets.class, ReadOffsets::new);
  }

  /** The tasks that write the rows of the calling task's run have begun. */
  public static void writes() {
    ReadOffsets offsets = current();
    if (offsets != null) {
      offsets.writes = true;
    }
  }

  /**
   * Where the calling task, which reads one partition, notes the offset after the current record.
   */
  static AtomicLong slot(UTF8String topic, int partition) {
    ReadOffsets offsets = current();
    return offsets == null
        ? new AtomicLong()
        : offsets
            .next
            .computeIfAbsent(topic.toString(), name -> new ConcurrentHashMap<>())
            .computeIfAbsent(partition, number -> new AtomicLong());
  }

  /** The offsets by query, topic and partition, of the runs that write. */
  public static Map<String, Map<String, Map<Integer, AtomicLong>>> all() {
    Map<String, Map<String, Map<Integer, AtomicLong>>> found = new HashMap<>();
    for (QueryRun run : QueryRun.all()) {
      ReadOffsets offsets = run.get(ReadOffsets.class);
      if (offsets != null && offsets.writes) {
        found.put(run.query(), offsets.next);
      }
    }
    return found;
  }
}
