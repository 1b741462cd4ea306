package io.streamsql.kafka;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Clients whose keys and values are bytes. */
public final class ByteArrays {
  private ByteArrays() {}

  /** A producer with these settings. */
  public static KafkaProducer<byte[], byte[]> producer(Map<String, Object> settings) {
    Map<String, Object> known = new HashMap<>(settings);
    known.remove(WriteLease.SETTING);
    return made(
        known,
        all -> new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer()));
  }

  /** A consumer with these settings and some more; it commits no offsets. */
  public static KafkaConsumer<byte[], byte[]> consumer(
      Map<String, ?> settings, Map<String, Object> more) {
    Map<String, Object> both = new HashMap<>(settings);
    both.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    both.putAll(more);
    return made(
        both,
        all -> new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
  }

  /** The settings of a producer with which any client can connect to the cluster. */
  public static Map<String, Object> connection(Map<String, String> producerSettings) {
    Map<String, Object> found = new HashMap<>();
    producerSettings.forEach(
        (name, value) -> {
          if (name.equals("bootstrap.servers")
              || name.startsWith("security.")
              || name.startsWith("sasl.")
              || name.startsWith("ssl.")) {
            found.put(name, value);
          }
        });
    return found;
  }

  /**
   * The client looks for its plug-in classes in the thread's class loader; a task's is Spark's own
   * for added jars, which need not be the one that loaded the Kafka client.
   */
  private static <T> T made(Map<String, Object> settings, Function<Map<String, Object>, T> maker) {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    Thread.currentThread().setContextClassLoader(KafkaProducer.class.getClassLoader());
    try {
      return maker.apply(settings);
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  public static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  public static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }
}
