package io.streamsql.views;

import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Rows that remain valid when the next one is made, so that they can be kept. */
final class CopiedRows extends RDD<InternalRow> {
  private static final long serialVersionUID = 1L;
  private final StructType columns;

  CopiedRows(RDD<InternalRow> rows, StructType columns) {
    super(rows, OperatorRows.TYPE);
    this.columns = columns;
  }

  @Override
  public Iterator<InternalRow> compute(Partition split, TaskContext context) {
    UnsafeProjection projection = UnsafeProjection.create(columns);
    java.util.Iterator<InternalRow> rows =
        CollectionConverters.asJava(
            this.<InternalRow>firstParent(OperatorRows.TYPE).iterator(split, context));
    return CollectionConverters.asScala(
        Iterators.<InternalRow, InternalRow>transform(rows, row -> projection.apply(row).copy()));
  }

  @Override
  public Partition[] getPartitions() {
    return firstParent(OperatorRows.TYPE).partitions();
  }
}
