package io.streamsql.kafka;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Records of one-partition topics, many in one call, for tests.
 *
 * <p>Java's producer can write the timestamp 0, which librdkafka takes for "now". Records are
 * passed between Python and Java in packed form: timestamp (long), key, value, number of headers
 * (int), then a name and a value each; a byte string is its length (int, -1 for null) and its
 * bytes.
 */
public final class TopicRecords {
  /** Consumers between two reads: creating one costs more than reading. */
  private static final Map<Map<String, String>, Queue<KafkaConsumer<byte[], byte[]>>> IDLE =
      new ConcurrentHashMap<>();

  private TopicRecords() {}

  /**
   * Writes packed records, each after the name of its topic, and waits until all are acknowledged.
   */
  public static void write(Map<String, String> settings, byte[] packed)
      throws IOException, InterruptedException, ExecutionException {
    Producer<byte[], byte[]> producer = SharedProducers.get(new HashMap<>(settings));
    List<Future<?>> sent = new ArrayList<>();
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(packed));
    while (in.available() > 0) {
      String topic = ByteArrays.text(bytes(in));
      long timestamp = in.readLong();
      byte[] key = bytes(in);
      byte[] value = bytes(in);
      RecordHeaders headers = new RecordHeaders();
      for (int i = in.readInt(); i > 0; i--) {
        headers.add(ByteArrays.text(bytes(in)), bytes(in));
      }
      sent.add(producer.send(new ProducerRecord<>(topic, 0, timestamp, key, value, headers)));
    }
    for (Future<?> record : sent) {
      record.get();
    }
  }

  /** All records that a topic holds now, packed. */
  public static byte[] read(Map<String, String> settings, String topic) throws IOException {
    Queue<KafkaConsumer<byte[], byte[]>> idle =
        IDLE.computeIfAbsent(settings, any -> new ConcurrentLinkedQueue<>());
    KafkaConsumer<byte[], byte[]> free = idle.poll();
    // Closing a consumer waits for the fetch that it has begun beyond the last record.
    KafkaConsumer<byte[], byte[]> consumer =
        free != null ? free : ByteArrays.consumer(settings, Map.of("fetch.max.wait.ms", "5"));
    try {
      byte[] packed = packed(consumer, new TopicPartition(topic, 0));
      consumer.assign(List.of());
      idle.add(consumer);
      return packed;
    } catch (IOException | RuntimeException e) {
      consumer.close();
      throw e;
    }
  }

  private static byte[] packed(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition)
      throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(packed);
    consumer.assign(List.of(partition));
    long end = consumer.endOffsets(List.of(partition)).get(partition);
    consumer.seekToBeginning(List.of(partition));
    while (consumer.position(partition) < end) {
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
        pack(record, out);
      }
    }
    return packed.toByteArray();
  }

  private static void pack(ConsumerRecord<byte[], byte[]> record, DataOutputStream out)
      throws IOException {
    out.writeLong(record.timestamp());
    put(out, record.key());
    put(out, record.value());
    Header[] headers = record.headers().toArray();
    out.writeInt(headers.length);
    for (Header header : headers) {
      put(out, ByteArrays.utf8(header.key()));
      put(out, header.value());
    }
  }

  private static void put(DataOutputStream out, byte[] bytes) throws IOException {
    out.writeInt(bytes == null ? -1 : bytes.length);
    if (bytes != null) {
      out.write(bytes);
    }
  }

  private static byte[] bytes(DataInputStream in) throws IOException {
    int length = in.readInt();
    return length < 0 ? null : in.readNBytes(length);
  }
}
