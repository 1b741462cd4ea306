package io.streamsql.views;

import io.streamsql.queries.PlannedRows;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.Iterator;

/** Stands, in a plan, for the rows that an input or an operator gives in a batch. */
final class Leaf extends PlannedRows {
  private static final long serialVersionUID = 1L;

  Leaf(SparkSession session, int number) {
    super(session, number);
  }

  @Override
  public Iterator<InternalRow> compute(Partition split, TaskContext context) {
    throw new UnsupportedOperationException("a batch puts its rows in the place of a leaf");
  }

  @Override
  public Partition[] getPartitions() {
    return new Partition[0];
  }
}
