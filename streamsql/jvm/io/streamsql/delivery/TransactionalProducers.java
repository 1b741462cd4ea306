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
   * How long the broker lets a transaction be open: it ends those of a process that is gone, if no
   * successor does, and until then nobody reads what was written after them. A pause that is longer
   * costs a query in real time a restart.
   */
  private static final int LIVE_MILLIS = 30_000;

  /**
   * Of a micro-batch, which may be long: as much as a broker allows if it is not told otherwise.
   */
  private static final int BATCH_MILLIS = 900_000;

  /**
   * @param run of the query, so that a new one does not get its predecessor's
   * @param settings of the producers
   * @param heir who may have them all the same: none, since the run goes on or was broken off
   */
  private record Held(
      String run, Map<String, Object> settings, ProducerPair producers, Heir heir) {}

  /** The run that comes after one that has ended with all committed: the first that asks. */
  private static final class Heir {
    private final AtomicReference<String> run = new AtomicReference<>();

    /** Whether it is this run. A later one may not find what it wrote: that may be torn. */
    private boolean is(String asking) {
      return run.compareAndSet(null, asking) || asking.equals(run.get());
    }
  }

  private static final Map<String, Held> PRODUCERS = new ConcurrentHashMap<>();

  private TransactionalProducers() {}

  /**
   * Those of an earlier batch of the same run, or of the run before if that has ended with all
   * committed, in this JVM; null: there are none.
   *
   * @param live whether the task's transactions are short
   */
  static ProducerPair known(Map<String, String> settings, String id, String run, boolean live) {
    Held held = PRODUCERS.get(id);
    if (held == null || held.run.equals(run)) {
      return held == null ? null : held.producers;
    }
    boolean same = held.settings.equals(allOf(settings, live));
    if (!same || held.heir == null || !held.heir.is(run)) {
      return null;
    }
    hold(settings, id, run, live, held.producers);
    return held.producers;
  }

  /**
   * A run has ended with all committed that it has written: the next one, which is told of no batch
   * that was broken off, may go on with its producers.
   */
  static void pass(String run) {
    Heir heir = new Heir();
    PRODUCERS.replaceAll(
        (id, held) ->
            held.run.equals(run) ? new Held(run, held.settings, held.producers, heir) : held);
  }

  /**
   * New ones: from here on nobody else can write for the task, and what was open is aborted.
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

  /** Keeps those of a task from here on. */
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

  /** Forgets those one of which cannot go on. */
  static void discard(String id, ProducerPair broken) {
    PRODUCERS.computeIfPresent(id, (key, held) -> held.producers == broken ? null : held);
    broken.close();
  }

  /** Forgets those of the ids, which nobody writes under any more. */
  static void discardAll(Predicate<String> ids) {
    PRODUCERS.forEach(
        (id, held) -> {
          if (ids.test(id)) {
            discard(id, held.producers);
          }
        });
  }
}
