package io.streamsql.views;

import java.util.Collections;
import java.util.Iterator;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** What an operator makes of rows that are placed and sorted by key, in one batch. */
final class OperatorRows extends RDD<InternalRow> {
  private static final long serialVersionUID = 1L;
  static final ClassTag<InternalRow> TYPE = ClassTag$.MODULE$.apply(InternalRow.class);
  private final ViewOperator operator;
  private final int number;
  private final ViewStores stores;
  private final Transport.Batch batch;

  OperatorRows(
      RDD<InternalRow> rows,
      ViewOperator operator,
      int number,
      ViewStores stores,
      Transport.Batch batch) {
    super(rows, TYPE);
    this.operator = operator;
    this.number = number;
    this.stores = stores;
    this.batch = batch;
  }

  @Override
  public scala.collection.Iterator<InternalRow> compute(Partition split, TaskContext context) {
    Iterator<InternalRow> rows =
        CollectionConverters.asJava(this.<InternalRow>firstParent(TYPE).iterator(split, context));
    // Constants have rows even then.
    if (!rows.hasNext() || batch.isRehearsal()) {
      return CollectionConverters.asScala(Collections.<InternalRow>emptyIterator());
    }
    if (!operator.hasState()) {
      return CollectionConverters.asScala(new KeyedRows(operator, rows, null, () -> {}));
    }
    ViewStores.Opened store = stores.open(number, split.index(), batch.number);
    return CollectionConverters.asScala(new KeyedRows(operator, rows, store, store::commit));
  }

  @Override
  public Partition[] getPartitions() {
    return firstParent(TYPE).partitions();
  }
}
