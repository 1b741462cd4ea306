package io.streamsql.views;

import java.util.List;
import org.apache.spark.Dependency;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;

/** An RDD of which Spark knows no input, in numbered partitions. */
abstract class RootRows<T> extends RDD<T> {
  private static final long serialVersionUID = 1L;
  private final int partitions;

  /** A partition that is nothing but its number. */
  private record Numbered(int index) implements Partition {}

  RootRows(SparkContext context, int partitions, ClassTag<T> type) {
    super(context, CollectionConverters.asScala(List.<Dependency<?>>of()).toSeq(), type);
    this.partitions = partitions;
  }

  @Override
  public Partition[] getPartitions() {
    Partition[] numbered = new Partition[partitions];
    for (int i = 0; i < partitions; i++) {
      numbered[i] = new Numbered(i);
    }
    return numbered;
  }
}
