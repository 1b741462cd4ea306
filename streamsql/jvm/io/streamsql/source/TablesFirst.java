package io.streamsql.source;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.TopicPartition;

/**
 * Has a row of a stream come after the rows of the query's tables that Kafka was known to have when
 * the row came, in a real-time batch as it is in a micro-batch. Kafka Streams has the same rule:
 * KIP-695, with {@code max.task.idle.ms} 0.
 */
final class TablesFirst {
  /** A partition as one of the query's inputs reads it. */
  private record Place(int input, TopicPartition partition) {}

  private final Map<Place, TableProgress> tables = new HashMap<>();

  /** A batch is planned in which an input, a table, is read from these offsets on. */
  synchronized void begin(int input, Map<TopicPartition, Long> starts) {
    tables.keySet().removeIf(place -> place.input == input);
    starts.forEach(
        (partition, start) -> tables.put(new Place(input, partition), new TableProgress(start)));
  }

  /** Whether there is nothing to wait for, however long the batch goes on. */
  synchronized boolean isEmpty() {
    return tables.isEmpty();
  }

  /** That of a partition of a table; null if no stream waits for it. */
  synchronized TableProgress of(int input, TopicPartition partition) {
    return tables.get(new Place(input, partition));
  }

  /** What rows of streams wait for that have come by now. */
  synchronized Wait await() {
    Map<TableProgress, Long> ends = new HashMap<>();
    tables.values().forEach(table -> ends.put(table, table.end()));
    return new Wait(ends);
  }

  /** Lasts until each table has been read up to an end, and what was read has been passed on. */
  static final class Wait {
    /** A table that far behind is no reason to stand still. */
    private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final long LOOK_NANOS = TimeUnit.MICROSECONDS.toNanos(500);

    private final long begin = System.nanoTime();
    private final Map<TableProgress, Long> ends;

    private Wait(Map<TableProgress, Long> ends) {
      this.ends = ends;
    }

    /** Waits until then, or while it is to be waited; whether it is over. */
    boolean isOver(long deadline, BooleanSupplier waits) throws InterruptedException {
      while (!isOver()) {
        long left = deadline - System.nanoTime();
        if (left <= 0 || !waits.getAsBoolean()) {
          return false;
        }
        TimeUnit.NANOSECONDS.sleep(Math.min(left, LOOK_NANOS));
      }
      return true;
    }

    private boolean isOver() {
      ends.replaceAll((table, end) -> end == TableProgress.UNKNOWN ? table.end() : end);
      ends.entrySet().removeIf(each -> each.getKey().hasReached(each.getValue()));
      return ends.isEmpty() || System.nanoTime() - begin > MOST_NANOS;
    }
  }
}
