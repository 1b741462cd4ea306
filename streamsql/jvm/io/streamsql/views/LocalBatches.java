package io.streamsql.views;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Batches of few records, each computed by one task over RDDs that are made once: no stages, no
 * shuffle files, no plans to be serialized. Spark must run in this process.
 */
final class LocalBatches implements Transport {
  private final SparkContext context;
  private final Map<String, LocalRecords> topics = new HashMap<>();
  private final List<LocalRows> kept = new ArrayList<>();
  private final RDD<InternalRow> rows;
  private final Batch batch = new Batch(Batch.REHEARSAL, 0);

  /** What takes the rows of a partition. */
  interface Writer {
    void write(int partition, java.util.Iterator<InternalRow> rows);
  }

  LocalBatches(SparkContext context, Dataflow dataflow, ViewStores stores) {
    this.context = context;
    rows = dataflow.rows(this, stores);
  }

  /** Runs all of it without records, so that its code is there when the first ones come. */
  void rehearse() {
    run(Map.of(), new Batch(Batch.REHEARSAL, 0), (part, none) -> none.forEachRemaining(row -> {}));
  }

  /** Computes and writes one batch. */
  void run(Map<String, RDD<InternalRow>> records, Batch next, Writer writer) {
    batch.number = next.number;
    batch.time = next.time;
    topics.forEach((topic, input) -> input.set(records.get(topic)));
    try {
      LocalTask.run(context, task -> write(task, writer));
    } finally {
      kept.forEach(LocalRows::clear);
      topics.values().forEach(input -> input.set(null));
    }
  }

  /** The least timestamp of the records read in this batch (ms); null: none has been read. */
  Long oldest() {
    long oldest = Long.MAX_VALUE;
    for (LocalRecords each : topics.values()) {
      oldest = Math.min(oldest, each.oldest());
    }
    return oldest == Long.MAX_VALUE ? null : oldest;
  }

  private void write(TaskContext task, Writer writer) {
    for (Partition part : rows.partitions()) {
      writer.write(part.index(), CollectionConverters.asJava(rows.iterator(part, task)));
    }
  }

  // -- Transport ----------------------------------------------------------------------------------

  @Override
  public Batch batch() {
    return batch;
  }

  @Override
  public RDD<InternalRow> records(String topic, StructType columns) {
    int timestamp = columns.fieldIndex("timestamp");
    return topics.computeIfAbsent(topic, each -> new LocalRecords(context, timestamp));
  }

  @Override
  public RDD<InternalRow> shared(RDD<InternalRow> each, StructType columns) {
    return keep(LocalRows.shared(each, columns));
  }

  @Override
  public SparkPlan exchanged(ShuffleExchangeExec exchange) {
    return new RDDScanExec(
        exchange.output(),
        keep(LocalRows.exchanged(exchange)),
        "exchange",
        exchange.outputPartitioning(),
        CollectionConverters.asScala(List.<SortOrder>of()).toSeq(),
        Option.empty());
  }

  private LocalRows keep(LocalRows each) {
    kept.add(each);
    return each;
  }
}
