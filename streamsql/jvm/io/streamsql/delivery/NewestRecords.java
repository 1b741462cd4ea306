package io.streamsql.delivery;

import io.streamsql.kafka.ByteArrays;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.header.Header;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * The last record of each key below some offsets of a topic. It reads in the driver: for few
 * records a Spark job takes much longer.
 */
public final class NewestRecords {
  private static final Duration POLL = Duration.ofMillis(100);
  private static final Duration NOTHING_COMES = Duration.ofSeconds(30);
  private static final StructType COLUMNS =
      (StructType)
          DataType.fromDDL(
              "key BINARY, value BINARY, time BIGINT,"
                  + " headers ARRAY<STRUCT<key: STRING, value: BINARY>>");
  private static final Map<String, Object> MORE =
      Map.of(
          ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
          "earliest",
          // The consumer prefetches beyond the end, and the broker holds that fetch.
          ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG,
          1);

  private NewestRecords() {}

  /**
   * Rows of key BINARY, value BINARY, the record's time BIGINT in ms, headers
   * ARRAY&lt;STRUCT&lt;key STRING, value BINARY&gt;&gt;, in any order; see {@link #newest}.
   */
  public static Dataset<Row> read(
      SparkSession session,
      Map<String, String> settings,
      String topic,
      Map<Integer, Number> begins,
      Map<Integer, Number> ends) {
    List<Row> rows = new ArrayList<>();
    newest(settings, topic, begins, ends).values().forEach(record -> rows.add(row(record)));
    return session.createDataFrame(rows, COLUMNS);
  }

  /**
   * The last record by key. Records without a key are ignored. If a key is in several partitions,
   * the highest partition wins.
   *
   * @param settings of the consumer
   * @param begins of the topic's partitions: the first offset, an Integer or a Long, as py4j
   *     converts it
   * @param ends the exclusive last offset
   * @throws TimeoutException if the records do not arrive
   */
  static Map<ByteBuffer, ConsumerRecord<byte[], byte[]>> newest(
      Map<String, String> settings,
      String topic,
      Map<Integer, Number> begins,
      Map<Integer, Number> ends) {
    Map<TopicPartition, Long> left = new HashMap<>();
    ends.forEach(
        (partition, end) -> {
          if (begin(begins, partition) < end.longValue()) {
            left.put(new TopicPartition(topic, partition), end.longValue());
          }
        });
    if (left.isEmpty()) {
      return Map.of();
    }
    try (Consumer<byte[], byte[]> consumer = ByteArrays.consumer(settings, MORE)) {
      consumer.assign(left.keySet());
      left.keySet().forEach(each -> consumer.seek(each, begin(begins, each.partition())));
      return read(consumer, left);
    }
  }

  /** Offset 0 for a partition that was added after the offsets were taken. */
  private static long begin(Map<Integer, Number> begins, int partition) {
    return begins.getOrDefault(partition, 0).longValue();
  }

  private static Map<ByteBuffer, ConsumerRecord<byte[], byte[]>> read(
      Consumer<byte[], byte[]> consumer, Map<TopicPartition, Long> left) {
    Map<ByteBuffer, ConsumerRecord<byte[], byte[]>> found = new HashMap<>();
    long deadline = System.nanoTime() + NOTHING_COMES.toNanos();
    while (!left.isEmpty()) {
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
        Long end = left.get(new TopicPartition(record.topic(), record.partition()));
        if (end != null && record.offset() < end && record.key() != null) {
          found.merge(ByteBuffer.wrap(record.key()), record, NewestRecords::later);
        }
      }
      // The position also passes transaction markers, which are not records.
      if (left.entrySet().removeIf(end -> consumer.position(end.getKey()) >= end.getValue())) {
        deadline = System.nanoTime() + NOTHING_COMES.toNanos();
      } else if (System.nanoTime() > deadline) {
        throw new TimeoutException("timed out reading the records before the offsets " + left);
      }
    }
    return found;
  }

  /** The newer of two records of a key, of which the second was read later. */
  private static ConsumerRecord<byte[], byte[]> later(
      ConsumerRecord<byte[], byte[]> one, ConsumerRecord<byte[], byte[]> other) {
    return one.partition() > other.partition() ? one : other;
  }

  private static Row row(ConsumerRecord<byte[], byte[]> record) {
    return RowFactory.create(record.key(), record.value(), record.timestamp(), headers(record));
  }

  /** Its headers, as a row has them. */
  static List<Row> headers(ConsumerRecord<byte[], byte[]> record) {
    List<Row> headers = new ArrayList<>();
    for (Header header : record.headers()) {
      headers.add(RowFactory.create(header.key(), header.value()));
    }
    return headers.isEmpty() ? null : headers;
  }
}
