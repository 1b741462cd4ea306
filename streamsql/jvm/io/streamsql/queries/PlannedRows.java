package io.streamsql.queries;

import java.util.List;
import org.apache.spark.Dependency;
import org.apache.spark.Partition;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Stands, in a plan that is made once, for the rows of each of its runs. */
public abstract class PlannedRows extends RDD<InternalRow> {
  private static final long serialVersionUID = 1L;
  private static final ClassTag<InternalRow> TYPE = ClassTag$.MODULE$.apply(InternalRow.class);

  /** Of what gives the rows, in its plan. */
  public final int number;

  protected PlannedRows(SparkSession session, int number) {
    super(
        session.sparkContext(),
        CollectionConverters.asScala(List.<Dependency<?>>of()).toSeq(),
        TYPE);
    this.number = number;
  }

  /**
   * A frame of the rows.
   *
   * @param partitions the number of partitions over which the rows are placed by their first
   *     column; 0: nothing is known of their places
   */
  @SuppressWarnings({"unchecked", "rawtypes"}) // an AttributeReference is an Attribute
  public final Dataset<Row> frame(SparkSession session, StructType columns, int partitions) {
    Seq attributes = DataTypeUtils.toAttributes(columns);
    LogicalRDD plan =
        new LogicalRDD(
            attributes,
            this,
            places(attributes, partitions),
            CollectionConverters.asScala(List.<SortOrder>of()).toSeq(),
            false,
            Option.empty(),
            session,
            Option.empty(),
            Option.empty(),
            false);
    return org.apache.spark.sql.classic.Dataset.ofRows(session, plan);
  }

  /** One, unless a subclass has others. */
  @Override
  public Partition[] getPartitions() {
    return new Partition[] {new Only()};
  }

  private static final class Only implements Partition {
    private static final long serialVersionUID = 1L;

    @Override
    public int index() {
      return 0;
    }
  }

  private static Partitioning places(Seq<Attribute> attributes, int partitions) {
    return switch (partitions) {
      case 0 -> new UnknownPartitioning(0);
      case 1 -> SinglePartition$.MODULE$;
      default -> {
        List<Expression> key = List.of(attributes.head());
        yield new HashPartitioning(CollectionConverters.asScala(key).toSeq(), partitions);
      }
    };
  }
}
