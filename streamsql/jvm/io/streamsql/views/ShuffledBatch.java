package io.streamsql.views;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.storage.StorageLevel;

/** One batch as a job of several stages, whose tasks run side by side. */
final class ShuffledBatch implements Transport, AutoCloseable {
  private final SparkContext context;
  private final Map<String, RDD<InternalRow>> topics;
  private final Batch batch;
  private final List<RDD<InternalRow>> kept = new ArrayList<>();

  /**
   * @param topics the records of each topic that has some
   */
  ShuffledBatch(SparkContext context, Map<String, RDD<InternalRow>> topics, Batch batch) {
    this.context = context;
    this.topics = topics;
    this.batch = batch;
  }

  @Override
  public Batch batch() {
    return batch;
  }

  @Override
  public RDD<InternalRow> records(String topic, StructType columns) {
    RDD<InternalRow> records = topics.get(topic);
    return records == null ? context.emptyRDD(OperatorRows.TYPE) : records;
  }

  @Override
  public RDD<InternalRow> shared(RDD<InternalRow> rows, StructType columns) {
    RDD<InternalRow> copied = new CopiedRows(rows, columns);
    copied.persist(StorageLevel.MEMORY_AND_DISK());
    kept.add(copied);
    return copied;
  }

  @Override
  public SparkPlan exchanged(ShuffleExchangeExec exchange) {
    return exchange;
  }

  @Override
  public void close() {
    kept.forEach(rows -> rows.unpersist(false));
  }
}
