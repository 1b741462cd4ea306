package io.streamsql.delivery;

import io.streamsql.kafka.ByteArrays;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.header.Header;

/**
 * The limits of a topic: the size and the timestamps of records. In a transaction they have to be
 * checked in advance: one record that the broker refuses aborts the transaction.
 */
public final class TopicLimits {
  private static final long FRESH_NANOS = 60_000_000_000L;

  /** Kafka's record format 2: the header of a batch, and a record's overhead. */
  private static final int BATCH_BYTES = 61;

  private static final int NUMBER_BYTES = 5;
  private static final int RECORD_BYTES = 21;
  private static final Map<String, TopicLimits> KNOWN = new ConcurrentHashMap<>();

  private final long bytes;
  private final boolean checksTimes;
  private final long beforeMillis;
  private final long afterMillis;
  private final long known = System.nanoTime();

  TopicLimits(long bytes, boolean checksTimes, long beforeMillis, long afterMillis) {
    this.bytes = bytes;
    this.checksTimes = checksTimes;
    this.beforeMillis = beforeMillis;
    this.afterMillis = afterMillis;
  }

  /** The limits of a topic, at most a minute old. */
  public static TopicLimits of(Map<String, String> producerSettings, String topic) {
    String name = producerSettings.get("bootstrap.servers") + " " + topic;
    TopicLimits found = KNOWN.get(name);
    if (found == null || System.nanoTime() - found.known > FRESH_NANOS) {
      found = ask(producerSettings, topic);
      KNOWN.put(name, found);
    }
    return found;
  }

  private static TopicLimits ask(Map<String, String> settings, String topic) {
    ConfigResource asked = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    try (Admin admin = Admin.create(ByteArrays.connection(settings))) {
      Config config = admin.describeConfigs(Set.of(asked)).values().get(asked).get();
      long request = Long.parseLong(settings.getOrDefault("max.request.size", "1048576"));
      return new TopicLimits(
          Math.min(request, number(config, "max.message.bytes")),
          "CreateTime".equals(text(config, "message.timestamp.type")),
          number(config, "message.timestamp.before.max.ms"),
          number(config, "message.timestamp.after.max.ms"));
    } catch (ExecutionException failed) {
      throw failed.getCause() instanceof KafkaException error ? error : new KafkaException(failed);
    } catch (InterruptedException stopped) {
      throw new InterruptException(stopped);
    }
  }

  private static String text(Config config, String name) {
    ConfigEntry entry = config.get(name);
    return entry == null ? null : entry.value();
  }

  private static long number(Config config, String name) {
    String value = text(config, name);
    return value == null ? Long.MAX_VALUE : Long.parseLong(value);
  }

  /** Why the topic would refuse a record; null: it would accept it. */
  public String refusal(ProducerRecord<byte[], byte[]> record) {
    long size = sizeOf(record);
    if (size > bytes) {
      return "the record has " + size + " bytes, its topic takes no more than " + bytes;
    }
    Long time = record.timestamp();
    if (checksTimes && time != null) {
      long now = System.currentTimeMillis();
      if (now - time > beforeMillis || time - now > afterMillis) {
        return "the topic does not take the record's timestamp " + time;
      }
    }
    return null;
  }

  /** The size of a batch with this record alone; an upper bound, since numbers vary in length. */
  private static long sizeOf(ProducerRecord<byte[], byte[]> record) {
    long size = (long) BATCH_BYTES + RECORD_BYTES + length(record.key()) + length(record.value());
    for (Header header : record.headers()) {
      size += 2 * NUMBER_BYTES + ByteArrays.utf8(header.key()).length + length(header.value());
    }
    return size;
  }

  private static int length(byte[] bytes) {
    return bytes == null ? 0 : bytes.length;
  }
}
