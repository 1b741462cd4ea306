package io.streamsql.state;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** A node in Spark's plans with the columns and partitions of one of Spark's nodes. */
abstract class DerivedNode extends SparkPlan {
  private static final long serialVersionUID = 1L;
  private final SparkPlan base;
  private final Object[] parameters;

  /**
   * @param base the node whose columns and partitions this one has; its child, unless {@link
   *     #children} is overridden
   * @param parameters those of the constructor that follow the base: Spark compares nodes by both
   */
  DerivedNode(SparkPlan base, Object... parameters) {
    this.base = base;
    this.parameters = parameters;
  }

  /** The same node over another child. */
  abstract SparkPlan over(SparkPlan child);

  @Override
  public Seq<Attribute> output() {
    return base.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return base.outputPartitioning();
  }

  @Override
  public Seq<SparkPlan> children() {
    return CollectionConverters.asScala(List.of(base)).toList();
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return over(children.head());
  }

  @Override
  public int productArity() {
    return 1 + parameters.length;
  }

  @Override
  public Object productElement(int place) {
    return place == 0 ? base : parameters[place - 1];
  }

  @Override
  public boolean canEqual(Object other) {
    return getClass().isInstance(other);
  }
}
