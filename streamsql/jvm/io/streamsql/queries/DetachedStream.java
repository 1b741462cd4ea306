package io.streamsql.queries;

import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.formats.Json;
import java.io.IOException;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import scala.runtime.AbstractPartialFunction;

/**
 * Replaces a running query's source in a plan that is never run. Planning a batch has effects on a
 * source: it waits for records, and notes where the batch begins. A plan over detached streams does
 * not touch the running sources.
 */
final class DetachedStream implements MicroBatchStream, SupportsRealTimeMode {
  private static final PartitionReaderFactory NO_READERS =
      partition -> {
        throw new UnsupportedOperationException("a detached stream is planned, never read");
      };

  private record Partition() implements InputPartition {}

  private DetachedStream() {}

  /** The plan of a batch, with a detached stream in place of each source. */
  static LogicalPlan detached(LogicalPlan batch) {
    return batch.transform(
        new AbstractPartialFunction<>() {
          @Override
          public boolean isDefinedAt(LogicalPlan node) {
            return node instanceof StreamingDataSourceV2ScanRelation;
          }

          @Override
          public LogicalPlan apply(LogicalPlan node) {
            var scan = (StreamingDataSourceV2ScanRelation) node;
            return scan.copy(
                scan.relation(),
                scan.scan(),
                scan.output(),
                new DetachedStream(),
                scan.startOffset(),
                scan.endOffset());
          }
        });
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    return IntStream.range(0, partitions(start))
        .mapToObj(number -> new Partition())
        .toArray(InputPartition[]::new);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return planInputPartitions(end);
  }

  /** The number of partitions of one topic's offsets, {@code {"topic": {"0": 17, "1": 4}}}. */
  private static int partitions(Offset offsets) {
    try {
      JsonNode topics = Json.TREES.readTree(offsets.json());
      return Math.max(1, topics.path(topics.fieldNames().next()).size());
    } catch (IOException | RuntimeException offsetsOfAnotherSource) {
      return 1;
    }
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return NO_READERS;
  }

  @Override
  public Offset latestOffset() {
    throw neverRun();
  }

  @Override
  public Offset initialOffset() {
    throw neverRun();
  }

  @Override
  public Offset deserializeOffset(String json) {
    throw neverRun();
  }

  @Override
  public Offset mergeOffsets(PartitionOffset[] offsets) {
    throw neverRun();
  }

  @Override
  public void commit(Offset end) {
    throw neverRun();
  }

  @Override
  public void stop() {
    throw neverRun();
  }

  private static UnsupportedOperationException neverRun() {
    return new UnsupportedOperationException("a detached stream is never run");
  }
}
