package io.streamsql.source;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.TopicPartition;

/**
 * Has a real-time batch of a query begin with its tables: rows of streams wait until the tables
 * have been read up to where they ended when the batch was planned. What had been written to a
 * table by then is known to all rows that are read after it, as it would be in a micro-batch. Of
 * what is written later, each record is taken as it comes.
 */
final class TablesFirst {
  /** How long rows of streams wait at most: a table that far behind is no reason to stand still. */
  private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** How often who waits looks whether its task is to end. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** A partition as one of the query's inputs reads it. */
  private record Place(int input, TopicPartition partition) {}

  /** The offsets up to which tables are still to be read. */
  private final Map<Place, Long> left = new HashMap<>();

  private long begin;

  /** A batch is planned, in which an input, a table, is to be read up to these offsets. */
  synchronized void awaits(int input, Map<TopicPartition, Long> ends) {
    left.keySet().removeIf(place -> place.input == input);
    ends.forEach((partition, end) -> left.put(new Place(input, partition), end));
    begin = System.nanoTime();
  }

  /** The offset up to which an input is to read the partition before streams are; 0: none. */
  synchronized long wanted(int input, TopicPartition partition) {
    return left.getOrDefault(new Place(input, partition), 0L);
  }

  /** An input has read so far, and all that it has read has been passed on. */
  synchronized void hasRead(int input, TopicPartition partition) {
    left.remove(new Place(input, partition));
    if (left.isEmpty()) {
      notifyAll();
    }
  }

  /** Waits for the tables until then, or while it is to be waited; whether they have been read. */
  synchronized boolean await(long deadline, BooleanSupplier waits) throws InterruptedException {
    while (!left.isEmpty() && waits.getAsBoolean()) {
      long now = System.nanoTime();
      if (now - begin > MOST_NANOS) {
        left.clear();
      } else if (now >= deadline) {
        return false;
      } else {
        TimeUnit.NANOSECONDS.timedWait(this, Math.min(deadline - now, LOOK_NANOS));
      }
    }
    return left.isEmpty();
  }
}
