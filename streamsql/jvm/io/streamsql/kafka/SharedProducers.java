package io.streamsql.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.apache.kafka.clients.producer.Producer;

/**
 * The producers of this JVM, one for each distinct set of settings.
 *
 * <p>A task lives as long as one micro-batch, often some milliseconds; a producer of its own would
 * need a connection and the metadata of its topics each time. Producers are thread-safe and batch
 * better when tasks share them, so they stay open until the JVM ends or {@link #discard}.
 */
public final class SharedProducers {
  private static final Map<Map<String, String>, Producer<byte[], byte[]>> PRODUCERS =
      new ConcurrentHashMap<>();

  private SharedProducers() {}

  /** The producer for these settings, created on first use. */
  public static Producer<byte[], byte[]> get(Map<String, String> settings) {
    return PRODUCERS.computeIfAbsent(settings, SharedProducers::create);
  }

  /** Registers a producer that was created elsewhere for these settings. */
  static void share(Map<String, String> settings, Producer<byte[], byte[]> made) {
    PRODUCERS.put(settings, made);
  }

  /**
   * Discards a producer that failed fatally (its transaction manager or its credentials), so that
   * the next task gets a new one. Its records in flight fail, and with them the tasks that wrote
   * them, which are then retried.
   */
  public static void discard(Map<String, String> settings, Producer<byte[], byte[]> broken) {
    if (PRODUCERS.remove(settings, broken)) {
      broken.close(Duration.ZERO);
    }
  }

  /** Discards the producers of these settings. */
  static void discardAll(Predicate<Map<String, String>> which) {
    PRODUCERS.forEach(
        (settings, producer) -> {
          if (which.test(settings)) {
            discard(settings, producer);
          }
        });
  }

  private static Producer<byte[], byte[]> create(Map<String, String> settings) {
    return ByteArrays.producer(new HashMap<>(settings));
  }
}
