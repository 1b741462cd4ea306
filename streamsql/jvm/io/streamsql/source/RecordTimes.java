package io.streamsql.source;

import io.streamsql.kafka.ByteArrays;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.spark.sql.catalyst.InternalRow;

/** The event times of single records, anywhere in a log. */
final class RecordTimes implements TimeSteps.Times {
  /** A record's offset and its event time (ms). */
  record Timed(long offset, long time) {}

  /** The size of a fetch; of a larger batch, Kafka returns the first one alone. */
  private static final int FETCHED_BYTES = 16 << 10;

  private static final int MOST_POLLED = 64;

  /** A fetch that waits at the end of one log must not delay that of another. */
  private static final int MOST_WAITED_MILLIS = 5;

  private static final Duration POLL = Duration.ofMillis(500);
  private static final int MOST_POLLS = 20;

  private final Consumer<byte[], byte[]> consumer;
  private final Map<String, UnaryOperator<Iterator<InternalRow>>> clocks;

  /**
   * @param settings of Kafka's consumer
   * @param clocks by topic, computes the event time, a bigint, from a record's row, or no row;
   *     other topics use the records' timestamps
   */
  RecordTimes(
      Map<String, Object> settings, Map<String, UnaryOperator<Iterator<InternalRow>>> clocks) {
    this.clocks = clocks;
    consumer =
        ByteArrays.consumer(
            settings,
            Map.of(
                ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
                "none",
                ConsumerConfig.MAX_POLL_RECORDS_CONFIG,
                MOST_POLLED,
                ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG,
                MOST_WAITED_MILLIS,
                ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG,
                FETCHED_BYTES));
  }

  /** Unknown for records without a time. */
  @Override
  public List<Timed> from(TopicPartition partition, long offset, long end) {
    List<Timed> found = new ArrayList<>();
    consumer.assign(List.of(partition));
    consumer.seek(partition, offset);
    RecordRow rows = new RecordRow(partition.topic(), partition.partition(), true);
    for (int polls = 0; found.isEmpty() && consumer.position(partition) < end; polls++) {
      if (polls == MOST_POLLS) {
        throw new TimeoutException("timed out reading " + partition);
      }
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL).records(partition)) {
        Long time = record.offset() < end ? time(record, rows) : null;
        if (time != null) {
          found.add(new Timed(record.offset(), time));
        }
      }
    }
    return found;
  }

  private Long time(ConsumerRecord<byte[], byte[]> record, RecordRow rows) {
    UnaryOperator<Iterator<InternalRow>> clock = clocks.get(record.topic());
    if (clock == null) {
      return record.timestamp();
    }
    Iterator<InternalRow> found = clock.apply(List.of(rows.of(record)).iterator());
    return found.hasNext() ? Long.valueOf(found.next().getLong(0)) : null;
  }

  @Override
  public void close() {
    consumer.close();
  }
}
