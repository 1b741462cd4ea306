package io.streamsql.source;

import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/**
 * A stream of Spark's Kafka source that sleeps while there is nothing to read. Spark polls a
 * micro-batch query's sources continually, and begins a real-time batch, with its tasks and its
 * commit, without records, too. Here both wait for the next record.
 *
 * <p>A micro-batch waits when it asks for the latest offset, and a planned real-time batch when it
 * asks for its input partitions: then only the tasks remain to be started. These read records that
 * are fetched once for all queries: {@link TailReader}. Before either, {@link DataLoss} checks
 * whether Kafka still has the records.
 */
final class IdleStream
    implements MicroBatchStream,
        SupportsTriggerAvailableNow,
        SupportsRealTimeMode,
        ReportsSourceMetrics {
  private final MicroBatchStream kafka;
  private final QueryInputs.Input input;
  private final DataLoss loss;
  private final String topic;
  private final Map<String, Object> settings;
  private final String query;
  private final boolean rests;
  private boolean availableNow;
  private boolean realTime;

  /** The settings are those of Kafka's clients; `rests`: see {@link TopicSource#RESTS}. */
  IdleStream(
      MicroBatchStream kafka,
      QueryInputs.Input input,
      DataLoss loss,
      String topic,
      Map<String, Object> settings,
      String query,
      boolean rests) {
    this.kafka = kafka;
    this.input = input;
    this.loss = loss;
    this.topic = topic;
    this.settings = settings;
    this.query = query;
    this.rests = rests;
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    availableNow = true;
    ((SupportsTriggerAvailableNow) kafka).prepareForTriggerAvailableNow();
  }

  @Override
  public void prepareForRealTimeMode() {
    realTime = true;
    ((SupportsRealTimeMode) kafka).prepareForRealTimeMode();
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    boolean sleeps = !availableNow && start != null;
    if (sleeps) {
      input.beginBatch(start.json(), rests && !realTime);
    } else if (availableNow) {
      input.beginLimitedBatch();
    }
    Offset end = bounded(start, ((SupportsTriggerAvailableNow) kafka).latestOffset(start, limit));
    if (sleeps) {
      input.end((end == null ? start : end).json());
    }
    loss.ended();
    return end;
  }

  private Offset bounded(Offset start, Offset end) {
    if (end == null) {
      return null;
    }
    String wanted = end.json();
    String from = start == null ? "{}" : start.json();
    String found = ReadUntil.bounded(query, topic, from, wanted);
    found = availableNow ? input.step(this, from, found) : input.inEpoch(from, found);
    return found.equals(wanted) ? end : kafka.deserializeOffset(found);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    input.begin(start.json());
    Offset begin = begin(start, null);
    if (input.isWaitedFor()) {
      input.beginTable(begin.json());
    }
    InputPartition[] own = ((SupportsRealTimeMode) kafka).planInputPartitions(begin);
    return Arrays.stream(own)
        .map(partition -> TailReader.Partition.of(partition, loss.topicId()))
        .toArray(InputPartition[]::new);
  }

  @Override
  public Offset mergeOffsets(PartitionOffset[] offsets) {
    Offset end = ((SupportsRealTimeMode) kafka).mergeOffsets(offsets);
    input.end(end.json());
    loss.ended();
    return end;
  }

  @Override
  public void stop() {
    input.close();
    kafka.stop();
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return kafka.planInputPartitions(begin(start, end.json()), end);
  }

  private Offset begin(Offset start, String end) {
    String wanted = start.json();
    String found = loss.begin(wanted, end);
    return found.equals(wanted) ? start : kafka.deserializeOffset(found);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    PartitionReaderFactory own = kafka.createReaderFactory();
    int number = input.isWaitedFor() ? input.number : TailReader.STREAM;
    return realTime ? new TailReader.Factory(own, settings, number) : new BatchReader.Factory(own);
  }

  @Override
  public Offset latestOffset() {
    return kafka.latestOffset();
  }

  @Override
  public Offset initialOffset() {
    return kafka.initialOffset();
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return ((SupportsTriggerAvailableNow) kafka).getDefaultReadLimit();
  }

  @Override
  public Offset reportLatestOffset() {
    return ((SupportsTriggerAvailableNow) kafka).reportLatestOffset();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return kafka.deserializeOffset(json);
  }

  @Override
  public void commit(Offset end) {
    kafka.commit(end);
    loss.committed();
  }

  @Override
  public Map<String, String> metrics(Optional<Offset> latestConsumed) {
    return ((ReportsSourceMetrics) kafka).metrics(latestConsumed);
  }

  @Override
  public String toString() {
    return kafka.toString();
  }
}
