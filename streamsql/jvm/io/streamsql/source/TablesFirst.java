package io.streamsql.source;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;

/**
 * Delays a stream's row in a real-time batch until the table rows that Kafka had when it arrived
 * have been processed, as in a micro-batch.
 *
 * <p>Kafka is asked for the tables' ends once rows of a stream have arrived. A consumer's own
 * knowledge is older: a running fetch need not cover all partitions.
 */
final class TablesFirst {
  /** A partition as one of the query's inputs reads it. */
  private record Place(int input, TopicPartition partition) {}

  private final Function<Set<TopicPartition>, CompletableFuture<Map<TopicPartition, Long>>> kafka;
  private final Map<Place, TableProgress> tables = new HashMap<>();

  /** The request that follows the pending one; null: none. */
  private CompletableFuture<Map<TopicPartition, Long>> next;

  private boolean asking;

  /** The function asks for the ends of the existing ones of those partitions. */
  TablesFirst(Function<Set<TopicPartition>, CompletableFuture<Map<TopicPartition, Long>>> kafka) {
    this.kafka = kafka;
  }

  /** A batch begins in which an input, a table, is read from these offsets on. */
  synchronized void begin(int input, Map<TopicPartition, Long> starts) {
    tables.keySet().removeIf(place -> place.input == input);
    starts.forEach(
        (partition, start) -> tables.put(new Place(input, partition), new TableProgress(start)));
  }

  /** Whether there is nothing to wait for in the whole batch. */
  synchronized boolean isEmpty() {
    return tables.isEmpty();
  }

  /** The position in a partition of a table; null if no stream waits for it. */
  synchronized TableProgress of(int input, TopicPartition partition) {
    return tables.get(new Place(input, partition));
  }

  /** The point that rows of streams that have arrived by now wait for. */
  synchronized Wait await() {
    return new Wait(tables, ends());
  }

  /** The tables' ends at a later moment than now; fails if Kafka does not answer. */
  private synchronized CompletableFuture<Map<TopicPartition, Long>> ends() {
    if (next == null) {
      next = new CompletableFuture<>();
    }
    CompletableFuture<Map<TopicPartition, Long>> ends = next;
    if (!asking) {
      ask();
    }
    return ends;
  }

  /** Sends one request at a time: callers that come meanwhile share the next one. */
  private void ask() {
    CompletableFuture<Map<TopicPartition, Long>> ends = next;
    next = null;
    asking = true;
    Set<TopicPartition> partitions =
        tables.keySet().stream().map(Place::partition).collect(Collectors.toSet());
    var unused =
        kafka
            .apply(partitions)
            .whenComplete(
                (found, failed) -> {
                  answered();
                  if (failed == null) {
                    ends.complete(found);
                  } else {
                    ends.completeExceptionally(failed);
                  }
                });
  }

  private synchronized void answered() {
    asking = false;
    if (next != null) {
      ask();
    }
  }

  /** Lasts until each table has been read to its end and passed on. */
  final class Wait {
    private static final long LOOK_NANOS = TimeUnit.MICROSECONDS.toNanos(500);

    /** The interval at which a wait for Kafka checks whether it is still needed. */
    private static final long ASK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Map<Place, TableProgress> tables;
    private CompletableFuture<Map<TopicPartition, Long>> ends;

    private Wait(
        Map<Place, TableProgress> tables, CompletableFuture<Map<TopicPartition, Long>> ends) {
      this.tables = new HashMap<>(tables);
      this.ends = ends;
    }

    /** Waits until it is over, or no longer needed; whether it is over. */
    boolean isOver(long deadline, BooleanSupplier waits) throws InterruptedException {
      while (!isOver()) {
        long left = deadline - System.nanoTime();
        if (left <= 0 || !waits.getAsBoolean()) {
          return false;
        }
        rest(left);
      }
      return true;
    }

    private void rest(long most) throws InterruptedException {
      if (ends.isCompletedExceptionally()) {
        TimeUnit.NANOSECONDS.sleep(Math.min(most, ASK_NANOS));
        ends = ends();
        return;
      }
      if (ends.isDone()) {
        TimeUnit.NANOSECONDS.sleep(Math.min(most, LOOK_NANOS));
        return;
      }
      try {
        ends.get(Math.min(most, ASK_NANOS), TimeUnit.NANOSECONDS);
      } catch (TimeoutException | ExecutionException notYet) {
        // The loop checks again.
      }
    }

    private boolean isOver() {
      if (ends.isDone() && !ends.isCompletedExceptionally()) {
        Map<TopicPartition, Long> known = ends.join();
        tables
            .entrySet()
            .removeIf(
                each -> {
                  Long end = known.get(each.getKey().partition);
                  return end == null || each.getValue().hasReached(end);
                });
      }
      return tables.isEmpty();
    }
  }
}
