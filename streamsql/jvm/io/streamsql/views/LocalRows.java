package io.streamsql.views;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.ExternalAppendOnlyUnsafeRowArray;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.types.StructType;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Rows that one task computes once in a batch, whatever partitions of them it reads: an exchange
 * without a shuffle, or rows that several fragments read. Rows that exceed the memory bounds spill.
 */
final class LocalRows extends RootRows<InternalRow> {
  private static final long serialVersionUID = 1L;
  private static final int ROWS_IN_MEMORY = 50_000;
  private static final long BYTES_IN_MEMORY = 16L << 20;

  /** Puts the rows of a partition where they belong. */
  private interface Distribution {
    void distribute(Partition part, TaskContext context, List<ExternalAppendOnlyUnsafeRowArray> to);
  }

  private final transient Distribution distribution;
  private final transient Partition[] inputs;
  private final int partitions;
  private transient List<ExternalAppendOnlyUnsafeRowArray> rows;

  private LocalRows(RDD<?> input, int partitions, Distribution distribution) {
    super(input.sparkContext(), partitions, OperatorRows.TYPE);
    this.inputs = input.partitions();
    this.partitions = partitions;
    this.distribution = distribution;
  }

  /** The rows of an exchange, in its partitions. */
  static LocalRows exchanged(ShuffleExchangeExec exchange) {
    ShuffleDependency<Object, InternalRow, InternalRow> shuffle = exchange.shuffleDependency();
    RDD<Product2<Object, InternalRow>> placed = shuffle.rdd();
    return new LocalRows(
        placed,
        shuffle.partitioner().numPartitions(),
        (part, context, to) -> {
          Iterator<Product2<Object, InternalRow>> found = placed.iterator(part, context);
          while (found.hasNext()) {
            Product2<Object, InternalRow> row = found.next();
            to.get((Integer) row._1()).add((UnsafeRow) row._2());
          }
        });
  }

  /** The rows as they are placed. */
  static LocalRows shared(RDD<InternalRow> rows, StructType columns) {
    RDD<InternalRow> unsafe = new CopiedRows(rows, columns);
    return new LocalRows(
        unsafe,
        unsafe.getNumPartitions(),
        (part, context, to) -> {
          Iterator<InternalRow> found = unsafe.iterator(part, context);
          ExternalAppendOnlyUnsafeRowArray place = to.get(part.index());
          while (found.hasNext()) {
            place.add((UnsafeRow) found.next());
          }
        });
  }

  /** Forgets the rows of the last batch. */
  void clear() {
    rows = null;
  }

  @Override
  @SuppressWarnings("unchecked") // an UnsafeRow is an InternalRow
  public Iterator<InternalRow> compute(Partition split, TaskContext context) {
    if (rows == null) {
      List<ExternalAppendOnlyUnsafeRowArray> places = new ArrayList<>();
      for (int i = 0; i < partitions; i++) {
        places.add(
            new ExternalAppendOnlyUnsafeRowArray(
                ROWS_IN_MEMORY, BYTES_IN_MEMORY, Integer.MAX_VALUE, Long.MAX_VALUE));
      }
      for (Partition each : inputs) {
        distribution.distribute(each, context, places);
      }
      rows = places;
    }
    return (Iterator<InternalRow>) (Iterator<?>) rows.get(split.index()).generateIterator();
  }
}
