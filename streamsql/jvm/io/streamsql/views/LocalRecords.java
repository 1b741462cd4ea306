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
final class LocalRecords extends RDD<InternalRow> {
  private static final long serialVersionUID = 1L;
  private transient RDD<InternalRow> batch;

  LocalRecords(SparkContext context) {
    super(
        context,
        CollectionConverters.asScala(List.<org.apache.spark.Dependency<?>>of()).toSeq(),
        OperatorRows.TYPE);
  }

  /**
   * @param records of the next batch; null: none
   */
  void set(RDD<InternalRow> records) {
    batch = records;
  }

  @Override
  public Iterator<InternalRow> compute(Partition split, TaskContext context) {
    RDD<InternalRow> records = batch;
    List<Partition> parts = records == null ? List.of() : Arrays.asList(records.partitions());
    return CollectionConverters.asScala(
        Iterators.concat(
            Iterators.<Partition, java.util.Iterator<InternalRow>>transform(
                parts.iterator(),
                part -> CollectionConverters.asJava(records.iterator(part, context)))));
  }

  @Override
  public Partition[] getPartitions() {
    return Numbered.upTo(1);
  }
}
