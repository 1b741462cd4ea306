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
 * The transactional producers of this JVM: one for each task number of a running query, kept from
 * batch to batch.
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
  private record Held(String run, Producer<byte[], byte[]> producer) {}

  private static final Map<String, Held> PRODUCERS = new ConcurrentHashMap<>();

  private TransactionalProducers() {}

  /** That of an earlier batch of the same run; null: there is none. */
  static Producer<byte[], byte[]> known(String id, String run) {
    Held held = PRODUCERS.get(id);
    return held != null && held.run.equals(run) ? held.producer : null;
  }

  /**
   * A new one: from here on nobody else can write under the id, and what was open is aborted.
   *
   * @param live whether its transactions are short
   */
  static Producer<byte[], byte[]> create(
      Map<String, String> settings, String id, String run, boolean live) {
    Held old = PRODUCERS.remove(id);
    if (old != null) {
      old.producer.close(Duration.ZERO);
    }
    Map<String, Object> all = new HashMap<>(settings);
    all.put("transactional.id", id);
    all.put("transaction.timeout.ms", live ? LIVE_MILLIS : BATCH_MILLIS);
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
    PRODUCERS.put(id, new Held(run, producer));
    return producer;
  }

  /** Forgets one that cannot go on. */
  static void discard(String id, Producer<byte[], byte[]> broken) {
    PRODUCERS.computeIfPresent(id, (key, held) -> held.producer == broken ? null : held);
    broken.close(Duration.ZERO);
  }

  /** Forgets those of the ids, which nobody writes under any more. */
  static void discardAll(Predicate<String> ids) {
    PRODUCERS.forEach(
        (id, held) -> {
          if (ids.test(id)) {
            discard(id, held.producer);
          }
        });
  }
}
