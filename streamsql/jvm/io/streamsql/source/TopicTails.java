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
 * The shared real-time consumer of one Kafka cluster: it fetches each partition once, in a thread
 * of its own, however many queries read it.
 *
 * <p>A reader per query and partition asks the broker three times for what may be one record; with
 * a hundred queries that is most of a machine's work.
 */
public final class TopicTails {
  private static final Logger LOG = LoggerFactory.getLogger(TopicTails.class);
  private static final Duration POLL = Duration.ofMillis(100);

  /** The records of one poll must fit into half a tail. */
  private static final int MOST_POLLED = 1_000;

  /** A new partition waits for the running fetch of the others. */
  private static final int MOST_WAITED_MILLIS = 50;

  /** Longer than readers are away between two batches. */
  private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(3);

  /** An earlier answer without records is not one: the topic was deleted, for example. */
  private static final long LEAST_POLL_MILLIS = 5;

  private static final long SHORTEST_PAUSE_MILLIS = 2;
  private static final int MANY_READERS = 40;
  private static final long LONGEST_PAUSE_MILLIS = 100;
  private static final Map<Map<String, Object>, TopicTails> CLUSTERS = new ConcurrentHashMap<>();

  private final Function<Map<String, Object>, Consumer<byte[], byte[]>> consumers;
  private final Map<String, Object> settings;
  private final Map<TopicPartition, Tail> tails = new HashMap<>();

  /** Partitions of recreated topics: records fetched before must not be taken. */
  private final Set<TopicPartition> madeAnew = new HashSet<>();

  /** The fetching thread; null if none runs. */
  private Consumer<byte[], byte[]> consumer;

  TopicTails(
      Map<String, Object> settings,
      Function<Map<String, Object>, Consumer<byte[], byte[]>> consumers) {
    this.settings = settings;
    this.consumers = consumers;
  }

  /** The tails of the cluster of these settings of Kafka's consumer. */
  static TopicTails of(Map<String, Object> settings) {
    return CLUSTERS.computeIfAbsent(settings, s -> new TopicTails(s, TopicTails::connect));
  }

  /** Makes all waiting readers check whether to continue. */
  static void rouse() {
    CLUSTERS.values().forEach(TopicTails::rouseReaders);
  }

  /**
   * By topic and partition, the range of offsets without records at the end of the log, such as a
   * transaction's end.
   */
  public static Map<String, Map<Integer, long[]>> gaps() {
    Map<String, Map<Integer, long[]>> found = new HashMap<>();
    CLUSTERS.values().forEach(cluster -> cluster.addGaps(found));
    return found;
  }

  private synchronized void addGaps(Map<String, Map<Integer, long[]>> found) {
    tails.forEach(
        (place, tail) -> {
          long[] gap = tail.gap();
          if (gap[0] < gap[1]) {
            found.computeIfAbsent(place.topic(), t -> new HashMap<>()).put(place.partition(), gap);
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
   * @param topicId Kafka's, since offsets of a deleted topic mean nothing in the next one
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
          LOG.trace("the topics to read have changed", changed);
        } catch (InterruptedException never) {
          throw new IllegalStateException(never);
        } catch (OffsetOutOfRangeException gone) {
          breakOff(gone.partitions());
        }
      }
    } catch (RuntimeException | LinkageError | AssertionError failed) {
      LOG.warn("shared reading of topics has failed; each query reads by itself", failed);
      Set<TopicPartition> all;
      synchronized (this) {
        all = new HashSet<>(tails.keySet());
        consumer = null;
      }
      breakOff(all);
    }
  }

  /** The position in a partition; 0 if unknown, as just after a change of its leader. */
  private static long position(Consumer<byte[], byte[]> from, Tail tail) {
    try {
      return from.position(tail.partition, Duration.ZERO);
    } catch (TimeoutException changed) {
      LOG.trace("unknown position in a partition", changed);
      return 0;
    }
  }

  /**
   * How long records are gathered after a fetch that had some, in ms: waking a reader, and all that
   * follows it, costs more than passing on a record. A record after a quiet time is not delayed.
   */
  static long pause(int readers) {
    return readers < MANY_READERS
        ? SHORTEST_PAUSE_MILLIS
        : Math.min(LONGEST_PAUSE_MILLIS, readers / 2);
  }

  private synchronized int readers() {
    return tails.values().stream().mapToInt(Tail::readers).sum();
  }

  /** Assigns the requested partitions; without any, the thread ends. */
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
