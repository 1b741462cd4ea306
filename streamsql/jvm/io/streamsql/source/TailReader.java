package io.streamsql.source;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.sql.kafka010.KafkaSourcePartitionOffset;

/**
 * Reads a partition in real time from the shared {@link Tail}; while that lacks the next record,
 * with Spark's own reader.
 */
final class TailReader implements SupportsRealTimeRead<InternalRow> {
  /** The table's number if a stream is read. */
  static final int STREAM = -1;

  private final PartitionReaderFactory kafka;
  private final KafkaBatchInputPartition input;
  private final TopicPartition partition;
  private final RecordRow rows;
  private final Tail tail;
  private long next;
  private InternalRow row;

  /** The next record's number in the tail; negative: none. */
  private long number = -1;

  /** Spark's reader, while it is needed. */
  private SupportsRealTimeRead<InternalRow> own;

  /** The inputs of the query; null on a cluster. */
  private final QueryInputs inputs;

  /** The position in a table that streams wait for; null for other inputs. */
  private final TableProgress progress;

  /** The tables that a stream waits for; null if there are none. */
  private final TablesFirst tables;

  /** The records before this number have been waited for; at first, none. */
  private long waited = -1;

  /** The point that the next record waits for, and the number up to which it covers records. */
  private TablesFirst.Wait wait;

  private long waits;

  private TailReader(
      PartitionReaderFactory kafka,
      Partition place,
      TopicTails tails,
      QueryInputs inputs,
      int table) {
    this.kafka = kafka;
    this.input = place.input;
    this.inputs = inputs;
    partition = input.offsetRange().topicPartition();
    rows = new RecordRow(partition.topic(), partition.partition(), input.includeHeaders());
    next = input.offsetRange().fromOffset();
    tail = tails.enter(partition, place.topicId, next);
    number = tail.find(next);
    TablesFirst all = inputs == null ? null : inputs.tablesFirst();
    tables = all != null && table == STREAM && !all.isEmpty() ? all : null;
    progress = all == null ? null : all.of(table, partition);
    if (progress != null) {
      progress.readsOf(tail);
    }
  }

  /** Creates the readers of a query's real-time batch; `settings` are of Kafka's consumer. */
  record Factory(PartitionReaderFactory kafka, Map<String, Object> settings, int table)
      implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return partition instanceof Partition place
          ? new TailReader(kafka, place, TopicTails.of(settings), QueryInputs.current(), table)
          : kafka.createReader(partition);
    }
  }

  /** A task's partition, and the id of the topic that its offsets refer to. */
  record Partition(KafkaBatchInputPartition input, String topicId) implements InputPartition {
    /** Spark's partition, or ours if its start offset is known. */
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
    long now = System.nanoTime();
    long deadline = now + TimeUnit.MILLISECONDS.toNanos(timeout);
    if (inputs == null) {
      return next(start, timeout, deadline);
    }
    OwedBatch owed = inputs.owed();
    long quiet = owed.deadline(now, deadline);
    long less = TimeUnit.NANOSECONDS.toMillis(deadline - quiet);
    RecordStatus found = next(start, timeout - less, quiet);
    if (found.hasRecord()) {
      owed.hasRecord();
    } else if (quiet < deadline && !owed.isOverAt(System.nanoTime())) {
      return next(start, timeout, deadline);
    }
    return found;
  }

  private RecordStatus next(Long start, Long timeout, long deadline) throws IOException {
    if (!goesOn()) {
      return RecordStatus.newStatusWithoutArrivalTime(false);
    }
    if (progress != null) {
      progress.hasPassedOn(next, number); // Otherwise the next one would not be requested.
    }
    while (number >= 0) {
      ConsumerRecord<byte[], byte[]> found = take(deadline);
      if (found == null && !tail.has(number)) {
        number = -1;
      } else if (found == null || !mayCome(deadline)) {
        return RecordStatus.newStatusWithoutArrivalTime(false);
      } else {
        number++;
        if (found.offset() >= next) {
          next = found.offset() + 1;
          row = rows.of(found);
          return RecordStatus.newStatusWithoutArrivalTime(true);
        }
      }
    }
    return mayCome(deadline)
        ? nextOfOwn(start, timeout)
        : RecordStatus.newStatusWithoutArrivalTime(false);
  }

  /**
   * Whether the next record may be passed on: a stream's after the tables' rows that arrived before
   * it. Spark's own reader is behind them anyway, except for the first record of a batch.
   */
  private boolean mayCome(long deadline) throws IOException {
    if (tables == null || number < waited) {
      return true;
    }
    if (wait == null) {
      waits = tail.end();
      wait = tables.await();
    }
    try {
      if (!wait.isOver(deadline, this::goesOn)) {
        return false;
      }
    } catch (InterruptedException e) {
      throw stopped();
    }
    wait = null;
    waited = waits;
    return true;
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
