package io.streamsql.delivery;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;

/**
 * A table that fits into memory: for each key the expected record and the record in its topic. It
 * follows both topics, so that a correction is written at once. Not thread-safe.
 */
public final class HeldTable {
  private final Map<ByteBuffer, Pair> pairs = new HashMap<>();
  private final Side wanted;
  private final Side there;

  /**
   * The result of a comparison.
   *
   * @param rows of key, value, time in ms and headers as expected, and the current value and time;
   *     a time is null where there is no record
   * @param settings of a consumer of each topic: the expected rows, then the table's
   * @param topics the same two
   * @param ends the offsets that the comparison has read to, by partition
   */
  public HeldTable(
      Dataset<Row> rows,
      List<Map<String, String>> settings,
      List<String> topics,
      List<Map<Integer, Number>> ends) {
    wanted = new Side(settings.get(0), topics.get(0), ends.get(0));
    there = new Side(settings.get(1), topics.get(1), ends.get(1));
    for (Row row : rows.collectAsList()) {
      Pair pair = pair(row.getAs(0));
      pair.value = row.getAs(1);
      pair.time = row.getAs(2);
      pair.headers = row.isNullAt(3) ? null : row.getList(3);
      pair.old = row.getAs(4);
      pair.oldTime = row.getAs(5);
    }
  }

  /** Reads both topics up to these offsets. */
  public void advance(Map<Integer, Number> wantedEnds, Map<Integer, Number> thereEnds) {
    for (ConsumerRecord<byte[], byte[]> record : wanted.next(wantedEnds)) {
      Pair pair = pair(record.key());
      pair.value = record.value();
      pair.time = record.timestamp();
      pair.headers = NewestRecords.headers(record);
    }
    for (ConsumerRecord<byte[], byte[]> record : there.next(thereEnds)) {
      Pair pair = pair(record.key());
      pair.old = record.value();
      pair.oldTime = record.timestamp();
    }
  }

  /** Writes the differing rows to the table's topic, as {@link Corrections#write} does. */
  public void write(Map<String, String> settings, String writer) {
    List<Row> rows = new ArrayList<>();
    for (Pair pair : pairs.values()) {
      if (!Arrays.equals(pair.value, pair.old)) {
        Long time = pair.time == null ? pair.oldTime : pair.time;
        rows.add(RowFactory.create(pair.key, pair.value, time, pair.headers));
      }
    }
    Corrections.write(rows, settings, there.topic, writer);
  }

  private Pair pair(byte[] key) {
    return pairs.computeIfAbsent(ByteBuffer.wrap(key), none -> new Pair(key));
  }

  private static final class Pair {
    private final byte[] key;
    private byte[] value;
    private Long time;
    private List<Row> headers;
    private byte[] old;
    private Long oldTime;

    Pair(byte[] key) {
      this.key = key;
    }
  }

  /** One of the topics, read up to some offsets. */
  private static final class Side {
    private final Map<String, String> settings;
    private final String topic;
    private Map<Integer, Number> read;

    Side(Map<String, String> settings, String topic, Map<Integer, Number> read) {
      this.settings = settings;
      this.topic = topic;
      this.read = Map.copyOf(read);
    }

    Collection<ConsumerRecord<byte[], byte[]>> next(Map<Integer, Number> ends) {
      Collection<ConsumerRecord<byte[], byte[]>> found =
          NewestRecords.newest(settings, topic, read, ends).values();
      read = Map.copyOf(ends);
      return found;
    }
  }
}
