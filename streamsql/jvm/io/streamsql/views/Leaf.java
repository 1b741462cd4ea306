package io.streamsql.views;

import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Stands, in a plan, for the rows that an input or an operator gives in a batch. */
final class Leaf extends RDD<InternalRow> {
  private static final long serialVersionUID = 1L;

  /** Of what gives the rows, in its dataflow. */
  final int number;

  private Leaf(SparkSession session, int number) {
    super(
        session.sparkContext(),
        CollectionConverters.asScala(List.<org.apache.spark.Dependency<?>>of()).toSeq(),
        OperatorRows.TYPE);
    this.number = number;
  }

  /**
   * A frame of rows with these columns.
   *
   * @param partitions the number of partitions over which the rows are placed by their first
   *     column; 0: nothing is known of their places
   */
  @SuppressWarnings({"unchecked", "rawtypes"}) // an AttributeReference is an Attribute
  static Dataset<Row> frame(SparkSession session, int number, StructType columns, int partitions) {
    Seq attributes = DataTypeUtils.toAttributes(columns);
    Partitioning places = new UnknownPartitioning(0);
    if (partitions > 0) {
      List<Expression> key = List.of(((Seq<Attribute>) attributes).head());
      places = new HashPartitioning(CollectionConverters.asScala(key).toSeq(), partitions);
    }
    LogicalRDD rows =
        new LogicalRDD(
            attributes,
            new Leaf(session, number),
            places,
            CollectionConverters.asScala(List.<SortOrder>of()).toSeq(),
            false,
            Option.empty(),
            session,
            Option.empty(),
            Option.empty(),
            false);
    return org.apache.spark.sql.classic.Dataset.ofRows(session, rows);
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
