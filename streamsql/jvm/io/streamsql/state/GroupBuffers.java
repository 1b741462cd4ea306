package io.streamsql.state;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec;
import org.apache.spark.sql.execution.streaming.ProjectAggregationBufferProcessor;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction2;

/**
 * Spark's operations on the aggregate buffers of a group, which may hold objects: creates an empty
 * buffer, merges a row of key and buffers into it, and makes a row of it: of results or, if the
 * operator has none, of the key and the buffers as bytes.
 */
final class GroupBuffers {
  private final ProjectAggregationBufferProcessor spark;

  GroupBuffers(BaseAggregateExec operator, int partition) {
    this.spark =
        new ProjectAggregationBufferProcessor(
            partition,
            operator.groupingExpressions(),
            operator.inputAttributes(),
            operator.aggregateExpressions(),
            operator.aggregateAttributes(),
            operator.initialInputBufferOffset(),
            operator.resultExpressions(),
            new Projections());
  }

  /** A key that is overwritten by the next one. */
  UnsafeRow key(InternalRow row) {
    return spark.groupingProjection().apply(row);
  }

  InternalRow create() {
    return spark.newAggregationBuffer();
  }

  void merge(InternalRow buffer, InternalRow row) {
    spark.processRow().apply(buffer, row);
  }

  /** A row that is overwritten by the next one; a serialized buffer must not be used afterwards. */
  UnsafeRow output(UnsafeRow key, InternalRow buffer) {
    return spark.generateOutput().apply(key, buffer);
  }

  /** How the projections of declarative aggregates are compiled. */
  private static final class Projections
      extends AbstractFunction2<Seq<Expression>, Seq<Attribute>, MutableProjection>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public MutableProjection apply(Seq<Expression> expressions, Seq<Attribute> input) {
      return MutableProjection.create(expressions, input);
    }
  }
}
