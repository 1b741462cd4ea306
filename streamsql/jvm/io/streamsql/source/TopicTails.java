package io.streamsql.source;

import io.streamsql.kafka.ByteArrays;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.WakeupException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the real-time readers of this JVM read from one Kafka cluster: one consumer, with a thread
 * of its own, fetches each partition once, however many queries read it.
 *
 * <p>A reader of its own for each query and partition asks the broker three times for what may be
 * one record; with a hundred queries that is most of what a machine does.
 */
public final class TopicTails {
  private static final Logger LOG = LoggerFactory.getLogger(TopicTails.class);
  private static final Duration POLL = Duration.ofMillis(100);

  /** What comes with one poll must fit into half a tail. */
  private static final int MOST_POLLED = 1_000;

  /** A partition that is read from now on waits for the fetch of the others that is under way. */
  private static final int MOST_WAITED_MILLIS = 50;

  /** Longer than readers are away between two batches. */
  private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(3);

  /** An answer without records that comes sooner is no answer: of a topic that was deleted, say. */
  private static final long LEAST_POLL_MILLIS = 5;

  private static final long SHORTEST_PAUSE_MILLIS = 2;
  private static final int MANY_READERS = 40;
  private static final long LONGEST_PAUSE_MILLIS = 100;
  private static final Map<Map<String, Object>, TopicTails> CLUSTERS = new ConcurrentHashMap<>();

  private final Function<Map<String, Object>, Consumer<byte[], byte[]>> consumers;
  private final Map<String, Object> settings;
  private final Map<TopicPartition, Tail> tails = new HashMap<>();

  /** Those whose topic was made anew: what is fetched of the one before must not be taken. */
  private final Set<TopicPartition> madeAnew = new HashSet<>();

  /** Of the thread that fetches; null while none does. */
  private Consumer<byte[], byte[]> consumer;

  TopicTails(
      Map<String, Object> settings,
      Function<Map<String, Object>, Consumer<byte[], byte[]>> consumers) {
    this.settings = settings;
    this.consumers = consumers;
  }

  /** Those of the cluster of these settings of Kafka's consumer. */
  static TopicTails of(Map<String, Object> settings) {
    return CLUSTERS.computeIfAbsent(settings, s -> new TopicTails(s, TopicTails::connect));
  }

  /** Has all who wait for a record ask anew whether they are to. */
  static void rouse() {
    CLUSTERS.values().forEach(TopicTails::rouseReaders);
  }

  /**
   * For {@code Pulse}: a line for each partition that ends with something that is no record, as a
   * transaction's end: from which offset to which there is none.
   */
  public static void addGapsTo(StringBuilder lines) {
    CLUSTERS.values().forEach(cluster -> cluster.addGaps(lines));
  }

  private synchronized void addGaps(StringBuilder lines) {
    tails.forEach(
        (place, tail) -> {
          long[] gap = tail.gap();
          if (gap[0] < gap[1]) {
            lines.append("gap\t" + place.topic() + "\t" + place.partition());
            lines.append("\t" + gap[0] + "\t" + gap[1] + "\n");
          }
        });
  }

  private synchronized void rouseReaders() {
    tails.values().forEach(Tail::rouse);
  }

  private static Consumer<byte[], byte[]> connect(Map<String, Object> given) {
    Map<String, Object> more =
        Map.of(
            ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
            "none",
            ConsumerConfig.MAX_POLL_RECORDS_CONFIG,
            MOST_POLLED,
            ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG,
            MOST_WAITED_MILLIS);
    return ByteArrays.consumer(given, more);
  }

  /**
   * The tail of a partition for a reader that begins at the offset, until it leaves.
   *
   * @param topicId Kafka's, since offsets of a topic that was deleted mean nothing in the next one
   */
  synchronized Tail enter(TopicPartition partition, String topicId, long offset) {
    Tail tail = tails.get(partition);
    if (tail == null || !tail.isOf(topicId)) {
      if (tail != null) {
        tail.breakOff();
        madeAnew.add(partition);
      }
      tail = new Tail(partition, topicId, offset);
      tails.put(partition, tail);
    }
    tail.enter();
    if (consumer == null) {
      Consumer<byte[], byte[]> made = consumers.apply(settings);
      Thread thread = new Thread(() -> fetch(made), "topic tails");
      thread.setDaemon(true);
      consumer = made;
      thread.start();
    }
    consumer.wakeup();
    return tail;
  }

  private void fetch(Consumer<byte[], byte[]> from) {
    try (from) {
      for (Set<Tail> found = assign(from); !found.isEmpty(); found = assign(from)) {
        try {
          long begin = System.nanoTime();
          ConsumerRecords<byte[], byte[]> records = from.poll(POLL);
          for (Tail tail : found) {
            tail.add(records.records(tail.partition));
            tail.look(position(from, tail));
          }
          long passed = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
          TimeUnit.MILLISECONDS.sleep(
              records.isEmpty() ? Math.max(0, LEAST_POLL_MILLIS - passed) : pause(readers()));
        } catch (WakeupException changed) {
          LOG.trace("what is read has changed", changed);
        } catch (InterruptedException never) {
          throw new IllegalStateException(never);
        } catch (OffsetOutOfRangeException gone) {
          breakOff(gone.partitions());
        }
      }
    } catch (RuntimeException | LinkageError | AssertionError failed) {
      LOG.warn("topics are no longer read for all queries together", failed);
      Set<TopicPartition> all;
      synchronized (this) {
        all = new HashSet<>(tails.keySet());
        consumer = null;
      }
      breakOff(all);
    }
  }

  /**
   * Where it is in a partition; 0 if that is not known, as when its leader has changed just now.
   */
  private static long position(Consumer<byte[], byte[]> from, Tail tail) {
    try {
      return from.position(tail.partition, Duration.ZERO);
    } catch (TimeoutException changed) {
      LOG.trace("where it is in a partition is not known", changed);
      return 0;
    }
  }

  /**
   * How long records are gathered after a fetch that had some, in ms: to wake a reader costs more
   * than to give it a record, and all that comes after it as well, if they come alone. A record
   * after a quiet time is not held up.
   */
  static long pause(int readers) {
    return readers < MANY_READERS
        ? SHORTEST_PAUSE_MILLIS
        : Math.min(LONGEST_PAUSE_MILLIS, readers / 2);
  }

  private synchronized int readers() {
    return tails.values().stream().mapToInt(Tail::readers).sum();
  }

  /** Has the consumer read what is to be read; nothing: it has no task any more. */
  private synchronized Set<Tail> assign(Consumer<byte[], byte[]> from) {
    tails.values().removeIf(tail -> tail.isLeft(LINGER_NANOS));
    if (tails.isEmpty()) {
      consumer = null;
      return Set.of();
    }
    if (!madeAnew.isEmpty()) {
      Set<TopicPartition> others = new HashSet<>(tails.keySet());
      others.removeAll(madeAnew);
      from.assign(others);
      madeAnew.clear();
    }
    if (!from.assignment().equals(tails.keySet())) {
      from.assign(tails.keySet());
    }
    List<TopicPartition> full = new ArrayList<>();
    List<TopicPartition> wanted = new ArrayList<>();
    for (Tail tail : tails.values()) {
      long seek = tail.takeSeek();
      if (seek >= 0) {
        from.seek(tail.partition, seek);
      }
      (tail.isFull() ? full : wanted).add(tail.partition);
    }
    from.pause(full);
    from.resume(wanted);
    return new HashSet<>(tails.values());
  }

  private synchronized void breakOff(Set<TopicPartition> partitions) {
    for (TopicPartition partition : partitions) {
      Tail tail = tails.remove(partition);
      if (tail != null) {
        tail.breakOff();
      }
    }
  }
}
