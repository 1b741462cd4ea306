package io.streamsql.delivery;

import io.streamsql.kafka.ByteArrays;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;

/**
 * The transactional producers of this JVM: a pair for each task number of a running query, kept
 * from batch to batch.
 */
final class TransactionalProducers {
  /**
   * The transaction timeout of a live run. The broker aborts the transactions of a lost process at
   * this timeout unless a successor does so earlier; until then consumers do not see later records.
   * A longer pause makes a real-time query restart.
   */
  private static final int LIVE_MILLIS = 30_000;

  /** The transaction timeout of micro-batches, which may be long: a broker's default maximum. */
  private static final int BATCH_MILLIS = 900_000;

  /**
   * @param run the query's run; a new one does not inherit its predecessor's producers
   * @param settings of the producers
   * @param successor the run that may take over the producers; none while this run continues or
   *     after it was aborted
   */
  private record Held(
      String run, Map<String, Object> settings, ProducerPair producers, Successor successor) {}

  /** Marks a run that ended with everything committed: its first successor inherits. */
  private static final class Successor {
    private final AtomicReference<String> run = new AtomicReference<>();

    /** Whether it is this run. Later runs cannot take it over, since what it wrote may be torn. */
    private boolean is(String asking) {
      return run.compareAndSet(null, asking) || asking.equals(run.get());
    }
  }

  private static final Map<String, Held> PRODUCERS = new ConcurrentHashMap<>();

  private TransactionalProducers() {}

  /**
   * The producers of an earlier batch of the same run, or of the previous run in this JVM if that
   * ended with everything committed; null: there are none.
   *
   * @param live whether the task's transactions are short
   */
  static ProducerPair known(Map<String, String> settings, String id, String run, boolean live) {
    Held held = PRODUCERS.get(id);
    if (held == null || held.run.equals(run)) {
      return held == null ? null : held.producers;
    }
    boolean same = held.settings.equals(allOf(settings, live));
    if (!same || held.successor == null || !held.successor.is(run)) {
      return null;
    }
    hold(settings, id, run, live, held.producers);
    return held.producers;
  }

  /**
   * Marks a run whose records are all committed: the next run, which then has no interrupted batch,
   * may take over its producers.
   */
  static void pass(String run) {
    Successor successor = new Successor();
    PRODUCERS.replaceAll(
        (id, held) ->
            held.run.equals(run) ? new Held(run, held.settings, held.producers, successor) : held);
  }

  /**
   * Creates producers, which fences all others of the task and aborts their open transactions.
   *
   * @param id the task's
   * @param live whether its transactions are short
   */
  static ProducerPair create(Map<String, String> settings, String id, String run, boolean live) {
    Held old = PRODUCERS.remove(id);
    if (old != null) {
      old.producers.close();
    }
    Map<String, Object> all = allOf(settings, live);
    // Both ids in any case: a predecessor may have been live.
    Producer<byte[], byte[]> second = create(all, Delivery.secondId(id));
    Producer<byte[], byte[]> first = null;
    try {
      first = create(all, id);
    } finally {
      if (first == null || !live) {
        second.close(Duration.ZERO);
      }
    }
    ProducerPair producers = new ProducerPair(first, live ? second : first);
    hold(settings, id, run, live, producers);
    return producers;
  }

  /** Keeps a task's producers. */
  static void hold(
      Map<String, String> settings, String id, String run, boolean live, ProducerPair producers) {
    PRODUCERS.put(id, new Held(run, allOf(settings, live), producers, null));
  }

  private static Map<String, Object> allOf(Map<String, String> settings, boolean live) {
    Map<String, Object> all = new HashMap<>(settings);
    all.put("transaction.timeout.ms", live ? LIVE_MILLIS : BATCH_MILLIS);
    return all;
  }

  private static Producer<byte[], byte[]> create(Map<String, Object> settings, String id) {
    Map<String, Object> all = new HashMap<>(settings);
    all.put("transactional.id", id);
    KafkaProducer<byte[], byte[]> producer = ByteArrays.producer(all);
    boolean usable = false;
    try {
      producer.initTransactions();
      usable = true;
    } finally {
      if (!usable) {
        producer.close(Duration.ZERO);
      }
    }
    return producer;
  }

  /** Removes a pair one of whose producers failed fatally. */
  static void discard(String id, ProducerPair broken) {
    PRODUCERS.computeIfPresent(id, (key, held) -> held.producers == broken ? null : held);
    broken.close();
  }

  /** Removes producers of ids that no query uses any more. */
  static void discardAll(Predicate<String> ids) {
    PRODUCERS.forEach(
        (id, held) -> {
          if (ids.test(id)) {
            discard(id, held.producers);
          }
        });
  }
}
