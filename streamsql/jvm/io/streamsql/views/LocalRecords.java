package io.streamsql.views;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** The records of a topic in one partition, each batch others. */
final class LocalRecords extends RootRows<InternalRow> {
  private static final long serialVersionUID = 1L;
  private final int timestamp;
  private transient RDD<InternalRow> batch;
  private transient long oldest;

  /**
   * @param timestamp the place of the records' timestamp
   */
  LocalRecords(SparkContext context, int timestamp) {
    super(context, 1, OperatorRows.TYPE);
    this.timestamp = timestamp;
  }

  /**
   * @param records of the next batch; null: none
   */
  void set(RDD<InternalRow> records) {
    batch = records;
    oldest = Long.MAX_VALUE;
  }

  /** The least timestamp of what has been read of the batch (ms); without records the greatest. */
  long oldest() {
    return oldest;
  }

  @Override
  public Iterator<InternalRow> compute(Partition split, TaskContext context) {
    RDD<InternalRow> records = batch;
    List<Partition> parts = records == null ? List.of() : Arrays.asList(records.partitions());
    java.util.Iterator<InternalRow> rows =
        Iterators.concat(
            Iterators.<Partition, java.util.Iterator<InternalRow>>transform(
                parts.iterator(),
                part -> CollectionConverters.asJava(records.iterator(part, context))));
    return CollectionConverters.asScala(
        Iterators.<InternalRow, InternalRow>transform(rows, this::timed));
  }

  private InternalRow timed(InternalRow row) {
    oldest = Math.min(oldest, row.getLong(timestamp) / 1000);
    return row;
  }
}
