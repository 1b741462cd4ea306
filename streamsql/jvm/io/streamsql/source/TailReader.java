package io.streamsql.source;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.sql.kafka010.KafkaRecordToRowConverter;
import org.apache.spark.sql.kafka010.KafkaSourcePartitionOffset;
import scala.Function1;

/**
 * Reads a partition in real time out of what is fetched for all readers; while that does not hold
 * what comes next, as Spark's own reader does.
 */
final class TailReader implements SupportsRealTimeRead<InternalRow> {
  /** In place of a table's number, where a stream is read. */
  static final int STREAM = -1;

  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  private final PartitionReaderFactory kafka;
  private final KafkaBatchInputPartition input;
  private final TopicPartition partition;
  private final Function1<ConsumerRecord<byte[], byte[]>, UnsafeRow> toRow;
  private final Tail tail;
  private long next;
  private InternalRow row;

  /** Which record of the tail is the next; negative: none. */
  private long number = -1;

  /** Spark's, while it is needed. */
  private SupportsRealTimeRead<InternalRow> own;

  /** Those of the query; null on a cluster. */
  private final QueryInputs inputs;

  /** Which table of the query it reads, or {@link #STREAM}. */
  private final int table;

  /** Up to which offset the table is read before streams are; of a stream, whether it waits. */
  private long wanted;

  private TailReader(
      PartitionReaderFactory kafka,
      Partition place,
      TopicTails tails,
      QueryInputs inputs,
      int table) {
    this.kafka = kafka;
    this.input = place.input;
    this.inputs = inputs;
    this.table = table;
    partition = input.offsetRange().topicPartition();
    toRow = new KafkaRecordToRowConverter().toUnsafeRowProjector(input.includeHeaders());
    next = input.offsetRange().fromOffset();
    tail = tails.enter(partition, place.topicId, next);
    number = tail.find(next);
    if (inputs != null) {
      wanted = table == STREAM ? 1 : inputs.tablesFirst().wanted(table, partition);
    }
  }

  /** Makes the readers of a query's real-time batch; `settings` are of Kafka's consumer. */
  record Factory(
      PartitionReaderFactory kafka, Map<String, Object> settings, String query, int table)
      implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return partition instanceof Partition place
          ? new TailReader(kafka, place, TopicTails.of(settings), QueryInputs.find(query), table)
          : kafka.createReader(partition);
    }
  }

  /** What a task reads in real time, and the id of the topic that its offsets are of. */
  record Partition(KafkaBatchInputPartition input, String topicId) implements InputPartition {
    /** Spark's, or one of ours in its place if it begins at an offset that is known. */
    static InputPartition of(InputPartition partition, String topicId) {
      return partition instanceof KafkaBatchInputPartition input
              && input.offsetRange().fromOffset() >= 0
          ? new Partition(input, topicId)
          : partition;
    }

    @Override
    public String[] preferredLocations() {
      return input.preferredLocations();
    }
  }

  @Override
  public RecordStatus nextWithTimeout(Long start, Long timeout) throws IOException {
    if (!goesOn()) {
      return RecordStatus.newStatusWithoutArrivalTime(false);
    }
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeout);
    if (wanted > 0 && !begins(deadline)) {
      return RecordStatus.newStatusWithoutArrivalTime(false);
    }
    while (number >= 0) {
      boolean looks = wanted > 0;
      ConsumerRecord<byte[], byte[]> found =
          take(looks ? Math.min(deadline, System.nanoTime() + LOOK_NANOS) : deadline);
      if (found == null) {
        if (!tail.has(number)) {
          number = -1;
        } else if (!looks || !begins(deadline) || System.nanoTime() >= deadline) {
          return RecordStatus.newStatusWithoutArrivalTime(false);
        }
      } else {
        number++;
        if (found.offset() >= next) {
          next = found.offset() + 1;
          row = toRow.apply(found);
          return RecordStatus.newStatusWithoutArrivalTime(true);
        }
      }
    }
    return nextOfOwn(start, timeout);
  }

  /**
   * Of a stream, whether the tables have been read, for which it waits. A table tells that it has
   * been: the row that was given last has been passed on when the next one is asked for.
   */
  private boolean begins(long deadline) throws IOException {
    TablesFirst tables = inputs.tablesFirst();
    if (table != STREAM) {
      if (next >= wanted || (number >= 0 && tail.isReadTo(number, wanted))) {
        tables.hasRead(table, partition);
      }
      wanted = tables.wanted(table, partition);
      return goesOn();
    }
    try {
      if (!tables.await(deadline, this::goesOn)) {
        return false;
      }
      wanted = 0;
      return true;
    } catch (InterruptedException e) {
      throw stopped();
    }
  }

  private boolean goesOn() {
    return inputs == null || !inputs.isFinishing();
  }

  private ConsumerRecord<byte[], byte[]> take(long deadline) throws IOException {
    try {
      return tail.take(number, deadline, this::goesOn);
    } catch (InterruptedException e) {
      throw stopped();
    }
  }

  private static InterruptedIOException stopped() {
    Thread.currentThread().interrupt();
    return new InterruptedIOException("the task was stopped");
  }

  @SuppressWarnings("unchecked")
  private RecordStatus nextOfOwn(Long start, Long timeout) throws IOException {
    if (own == null) {
      KafkaOffsetRange range = input.offsetRange();
      own =
          (SupportsRealTimeRead<InternalRow>)
              kafka.createReader(
                  new KafkaBatchInputPartition(
                      new KafkaOffsetRange(
                          partition, next, range.untilOffset(), range.preferredLoc()),
                      input.executorKafkaParams(),
                      input.pollTimeoutMs(),
                      input.failOnDataLoss(),
                      input.includeHeaders()));
    }
    RecordStatus status = own.nextWithTimeout(start, timeout);
    if (status.hasRecord()) {
      row = own.get();
      next = ((KafkaSourcePartitionOffset) own.getOffset()).partitionOffset();
      if (tail.holds(next)) {
        number = tail.find(next);
        row = row.copy();
        closeOwn();
      }
    }
    return status;
  }

  @Override
  public PartitionOffset getOffset() {
    return new KafkaSourcePartitionOffset(partition, next);
  }

  @Override
  public boolean next() {
    throw new UnsupportedOperationException("only for real time");
  }

  @Override
  public InternalRow get() {
    return row;
  }

  @Override
  public void close() throws IOException {
    tail.leave();
    closeOwn();
  }

  private void closeOwn() throws IOException {
    if (own != null) {
      own.close();
      own = null;
    }
  }
}
