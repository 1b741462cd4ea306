package io.streamsql.delivery;

import io.streamsql.kafka.ByteArrays;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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
   */
  private record Held(String run, ProducerPair producers) {}

  private static final Map<String, Held> PRODUCERS = new ConcurrentHashMap<>();

  private TransactionalProducers() {}

  /** Those of an earlier batch of the same run; null: there are none. */
  static ProducerPair known(String id, String run) {
    Held held = PRODUCERS.get(id);
    return held != null && held.run.equals(run) ? held.producers : null;
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
    Map<String, Object> all = new HashMap<>(settings);
    all.put("transaction.timeout.ms", live ? LIVE_MILLIS : BATCH_MILLIS);
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
    PRODUCERS.put(id, new Held(run, producers));
    return producers;
  }

  private static Producer<byte[], byte[]> create(Map<String, Object> settings, String id) {
    settings.put("transactional.id", id);
    KafkaProducer<byte[], byte[]> producer = ByteArrays.producer(settings);
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
