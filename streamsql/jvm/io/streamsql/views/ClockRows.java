package io.streamsql.views;

import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** The time of each batch, in microseconds since the epoch: one row. */
final class ClockRows extends RootRows<InternalRow> {
  private static final long serialVersionUID = 1L;
  private static final long MICROS = 1_000;
  private final Transport.Batch batch;

  ClockRows(SparkContext context, Transport.Batch batch) {
    super(context, 1, OperatorRows.TYPE);
    this.batch = batch;
  }

  @Override
  public Iterator<InternalRow> compute(Partition split, TaskContext context) {
    List<InternalRow> rows =
        batch.isRehearsal() ? List.of() : List.of(new Results(1).row(batch.time * MICROS));
    return CollectionConverters.asScala(rows.iterator());
  }
}
