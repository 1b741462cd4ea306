package io.streamsql.source;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer;

/** Reads a micro-batch's records of a partition with Spark's consumer, without its copies. */
final class BatchReader implements PartitionReader<InternalRow> {
  /**
   * How long the broker may hold a fetch. A consumer sends the fetch of the records after a batch
   * ahead, and the broker answers no other request of its connection meanwhile: with Kafka's
   * default of 500 ms the next batch of a topic at rest waits for half a second.
   */
  private static final String MOST_WAIT_MILLIS = "5";

  private final KafkaBatchInputPartition input;
  private final KafkaDataConsumer consumer;
  private final RecordRow rows;
  private final long end;
  private long next;
  private InternalRow row;

  private BatchReader(KafkaBatchInputPartition input) {
    this.input = input;
    KafkaOffsetRange range = input.offsetRange();
    next = range.fromOffset();
    end = range.untilOffset();
    rows = new RecordRow(range.topic(), range.partition(), input.includeHeaders());
    Map<String, Object> settings = new HashMap<>(input.executorKafkaParams());
    settings.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, MOST_WAIT_MILLIS);
    consumer = KafkaDataConsumer.acquire(range.topicPartition(), settings);
  }

  /** Creates the readers of a query's micro-batches; Spark's where offsets are unknown. */
  record Factory(PartitionReaderFactory kafka) implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return partition instanceof KafkaBatchInputPartition input
              && input.offsetRange().fromOffset() >= 0
              && input.offsetRange().untilOffset() >= 0
          ? new BatchReader(input)
          : kafka.createReader(partition);
    }
  }

  @Override
  public boolean next() {
    if (next >= end) {
      return false;
    }
    ConsumerRecord<byte[], byte[]> record =
        consumer.get(next, end, input.pollTimeoutMs(), input.failOnDataLoss());
    if (record == null) {
      return false; // the rest are transaction markers
    }
    row = rows.of(record);
    next = record.offset() + 1;
    return true;
  }

  @Override
  public InternalRow get() {
    return row;
  }

  @Override
  public void close() {
    consumer.release();
  }
}
