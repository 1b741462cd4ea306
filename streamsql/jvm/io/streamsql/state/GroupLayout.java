package io.streamsql.state;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec;
import org.apache.spark.sql.execution.streaming.StatefulStreamlineAggregateExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterable;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The columns that Spark keeps of each group of a GROUP BY: a row of the key, and one of the
 * buffers of all aggregate functions. Stored state is not self-describing; the layout is read from
 * a batch's plan, which alone knows Spark's functions for the aggregates, and their order.
 */
public final class GroupLayout implements Serializable {
  private static final long serialVersionUID = 1L;
  private final StructType key;
  private final StructType value;

  /** Of each field of the value, its function, and which of the function's buffers it is. */
  private final List<String> buffers;

  GroupLayout(StructType key, StructType value, List<String> buffers) {
    this.key = key;
    this.value = value;
    this.buffers = List.copyOf(buffers);
  }

  /**
   * The layout of a query whose last batch was planned in this JVM; it may have ended.
   *
   * @throws IllegalArgumentException if its state is not that of one GROUP BY
   */
  public static GroupLayout of(StreamingQuery query) {
    SparkPlan plan =
        ((StreamingQueryWrapper) query).streamingQuery().lastExecution().executedPlan();
    List<SparkPlan> found = new ArrayList<>();
    collect(plan, found);
    if (found.size() != 1) {
      throw new IllegalArgumentException("the query has " + found.size() + " operators with state");
    }
    SparkPlan operator = found.get(0);
    if (operator instanceof StatefulStreamlineAggregateExec aggregate) {
      return of(aggregate);
    }
    if (operator instanceof StateStoreSaveExec save) {
      return of(aggregateBelow(save));
    }
    throw new IllegalArgumentException("the query's state belongs to " + operator.nodeName());
  }

  private static void collect(SparkPlan plan, List<SparkPlan> found) {
    if (plan instanceof StateStoreWriter) {
      found.add(plan);
    }
    Iterator<SparkPlan> children = plan.children().iterator();
    while (children.hasNext()) {
      collect(children.next(), found);
    }
  }

  private static BaseAggregateExec aggregateBelow(SparkPlan plan) {
    SparkPlan below = plan.children().head();
    return below instanceof BaseAggregateExec aggregate ? aggregate : aggregateBelow(below);
  }

  private static GroupLayout of(BaseAggregateExec operator) {
    List<Attribute> keys = new ArrayList<>();
    for (NamedExpression key : CollectionConverters.asJava(operator.groupingExpressions())) {
      keys.add(key.toAttribute());
    }
    List<Attribute> values = new ArrayList<>();
    List<String> buffers = new ArrayList<>();
    for (AggregateExpression call : CollectionConverters.asJava(operator.aggregateExpressions())) {
      String text = text(call);
      int number = 0;
      Seq<AttributeReference> own = call.aggregateFunction().aggBufferAttributes();
      for (AttributeReference buffer : CollectionConverters.asJava(own)) {
        values.add(buffer);
        buffers.add(text + " #" + number++);
      }
    }
    return new GroupLayout(schema(keys), schema(values), buffers);
  }

  private static StructType schema(List<Attribute> attributes) {
    return DataTypeUtils.fromAttributes(CollectionConverters.asScala(attributes).toSeq());
  }

  /** The function with all its properties except for the position of its buffers. */
  private static String text(AggregateExpression call) {
    AggregateFunction function = call.aggregateFunction();
    if (function instanceof ImperativeAggregate imperative) {
      function = imperative.withNewMutableAggBufferOffset(0).withNewInputAggBufferOffset(0);
    }
    StringBuilder text = new StringBuilder(call.sql());
    text.append(" by ").append(function.getClass().getName());
    Iterator<Object> parameters = function.productIterator();
    while (parameters.hasNext()) {
      Object parameter = parameters.next();
      if (!(parameter instanceof Expression
          || parameter instanceof Iterable
          || parameter instanceof Option)) {
        text.append(", ").append(parameter);
      }
    }
    return text.toString();
  }

  /**
   * The positions of this layout's buffers in another one.
   *
   * @throws IllegalArgumentException if a buffer is missing or ambiguous
   */
  int[] placesIn(GroupLayout other) {
    if (!DataTypeUtils.sameType(key, other.key)) {
      throw new IllegalArgumentException("the key is " + key + ", and was " + other.key);
    }
    int[] places = new int[buffers.size()];
    boolean same = buffers.equals(other.buffers);
    for (int i = 0; i < places.length; i++) {
      String wanted = buffers.get(i);
      places[i] = same ? i : other.buffers.indexOf(wanted);
      if (places[i] < 0) {
        throw new IllegalArgumentException("the state lacks " + wanted);
      }
      boolean known = Collections.frequency(other.buffers, wanted) == 1;
      if (!same && !(known && Collections.frequency(buffers, wanted) == 1)) {
        throw new IllegalArgumentException("the state is ambiguous: it has several of " + wanted);
      }
      if (!value.fields()[i].dataType().equals(other.value.fields()[places[i]].dataType())) {
        throw new IllegalArgumentException("the state of " + wanted + " has another type");
      }
    }
    return places;
  }

  /**
   * Whether state of the one layout can be migrated to the other.
   *
   * @return null, or the reason
   */
  public String obstacleFrom(GroupLayout other) {
    try {
      placesIn(other);
      return null;
    } catch (IllegalArgumentException e) {
      return e.getMessage();
    }
  }

  StructType key() {
    return key;
  }

  StructType value() {
    return value;
  }
}
