package io.streamsql.operators.aggregates;

import io.streamsql.expressions.PackedRows;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.NoOp$;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Evaluates Spark's aggregate functions row by row, for operators with groups of their own: a group
 * is a buffer, which can be merged with others and be kept as bytes.
 *
 * <p>As in Spark's aggregation, declarative functions are projections over the buffer and the row,
 * imperative ones access the buffer, and a stored buffer is merged into a new one.
 */
public final class AggregateBuffers implements Serializable {
  private static final long serialVersionUID = 1L;
  private final List<AggregateFunction> functions;
  private final List<Attribute> input;
  private final List<Attribute> evaluated;
  private final List<Expression> outputs;
  private transient List<Attribute> columns;
  private transient MutableProjection initialize;
  private transient MutableProjection update;
  private transient MutableProjection merge;
  private transient MutableProjection evaluate;
  private transient UnsafeProjection store;
  private transient UnsafeProjection result;

  AggregateBuffers(
      List<AggregateFunction> functions,
      List<Attribute> input,
      List<Attribute> evaluated,
      List<Expression> outputs) {
    this.functions = functions;
    this.input = input;
    this.evaluated = evaluated;
    this.outputs = outputs;
  }

  /** The aggregates of a global aggregation; its input's columns are those of the rows. */
  public static AggregateBuffers of(Dataset<Row> totals) {
    var dataset = (org.apache.spark.sql.classic.Dataset<Row>) totals;
    Aggregate node = (Aggregate) ReplaceExpressions.apply(dataset.queryExecution().analyzed());
    List<Attribute> input = list(node.child().output());
    List<AggregateFunction> functions = new ArrayList<>();
    List<Attribute> evaluated = new ArrayList<>();
    List<Expression> outputs = new ArrayList<>();
    int[] width = {0};
    for (NamedExpression named : list(node.aggregateExpressions())) {
      outputs.add(withoutAggregates((Expression) named, functions, evaluated, input, width));
    }
    return new AggregateBuffers(functions, input, evaluated, outputs);
  }

  /** The columns of a stored group: a line with name and type for each. */
  public String layout() {
    StringBuilder lines = new StringBuilder();
    for (AggregateFunction function : functions) {
      for (Attribute column : list(function.aggBufferAttributes())) {
        lines.append(function.prettyName()).append('.').append(column.name());
        lines.append('\t').append(column.dataType().simpleString()).append('\n');
      }
    }
    return lines.toString();
  }

  /** The expression over the functions' values; adds the functions that it calls to the list. */
  private static Expression withoutAggregates(
      Expression expression,
      List<AggregateFunction> functions,
      List<Attribute> evaluated,
      List<Attribute> input,
      int[] width) {
    if (expression instanceof AggregateExpression call) {
      if (call.isDistinct() || call.filter().isDefined()) {
        throw new IllegalArgumentException("DISTINCT and FILTER are not evaluated a row at a time");
      }
      functions.add(placed(call.aggregateFunction(), input, width));
      evaluated.add(call.resultAttribute());
      return call.resultAttribute();
    }
    List<Expression> children = new ArrayList<>();
    for (Expression child : list(expression.children())) {
      children.add(withoutAggregates(child, functions, evaluated, input, width));
    }
    return expression.withNewChildren(seq(children));
  }

  /** Imperative functions know their place in the buffer, and their inputs by number. */
  private static AggregateFunction placed(
      AggregateFunction function, List<Attribute> input, int[] width) {
    AggregateFunction placed = function;
    if (function instanceof ImperativeAggregate imperative) {
      int place = width[0];
      ImperativeAggregate moved = imperative.withNewMutableAggBufferOffset(place);
      placed = (AggregateFunction) bound(moved.withNewInputAggBufferOffset(place), input);
    }
    width[0] += placed.aggBufferAttributes().length();
    return placed;
  }

  private static Expression bound(Expression expression, List<Attribute> input) {
    if (expression instanceof Attribute attribute) {
      for (int i = 0; i < input.size(); i++) {
        if (input.get(i).exprId().equals(attribute.exprId())) {
          return new BoundReference(i, attribute.dataType(), attribute.nullable());
        }
      }
      throw new IllegalArgumentException("no column " + attribute.name());
    }
    List<Expression> children = new ArrayList<>();
    for (Expression child : list(expression.children())) {
      children.add(bound(child, input));
    }
    return expression.withNewChildren(seq(children));
  }

  /** The buffer of no rows. */
  public InternalRow create() {
    prepare();
    List<DataType> types = columns.stream().map(Attribute::dataType).toList();
    InternalRow buffer = new SpecificInternalRow(seq(types));
    initialize.target(buffer).apply(InternalRow.empty());
    for (AggregateFunction function : functions) {
      if (function instanceof ImperativeAggregate imperative) {
        imperative.initialize(buffer);
      }
    }
    return buffer;
  }

  /** The buffer that {@link #store} encoded. */
  public InternalRow load(byte[] stored) {
    InternalRow buffer = create();
    merge(buffer, stored);
    return buffer;
  }

  /** Adds a row of the input's columns to the buffer. */
  public void update(InternalRow buffer, InternalRow row) {
    update.target(buffer).apply(joined(buffer, row));
    for (AggregateFunction function : functions) {
      if (function instanceof ImperativeAggregate imperative) {
        imperative.update(buffer, row);
      }
    }
  }

  /** Merges a stored buffer into the buffer. */
  void merge(InternalRow buffer, byte[] stored) {
    UnsafeRow other = new UnsafeRow(columns.size());
    other.pointTo(stored, stored.length);
    merge.target(buffer).apply(joined(buffer, other));
    for (AggregateFunction function : functions) {
      if (function instanceof ImperativeAggregate imperative) {
        imperative.merge(buffer, other);
      }
    }
  }

  /** The aggregation's columns, packed as {@code PackedRows} does. */
  public byte[] result(InternalRow buffer) {
    GenericInternalRow values = new GenericInternalRow(functions.size());
    evaluate.target(values).apply(buffer);
    for (int i = 0; i < functions.size(); i++) {
      if (functions.get(i) instanceof ImperativeAggregate imperative) {
        values.update(i, imperative.eval(buffer));
      }
    }
    return PackedRows.bytes(result.apply(values));
  }

  /** The buffer as bytes; it must not be used afterwards. */
  public byte[] store(InternalRow buffer) {
    for (AggregateFunction function : functions) {
      if (function instanceof TypedImperativeAggregate<?> typed) {
        typed.serializeAggregateBufferInPlace(buffer);
      }
    }
    return PackedRows.bytes(store.apply(buffer));
  }

  private static InternalRow joined(InternalRow buffer, InternalRow row) {
    return new org.apache.spark.sql.catalyst.expressions.JoinedRow(buffer, row);
  }

  private void prepare() {
    if (columns != null) {
      return;
    }
    List<Attribute> own = new ArrayList<>();
    List<Attribute> others = new ArrayList<>();
    List<Expression> initial = new ArrayList<>();
    List<Expression> updates = new ArrayList<>();
    List<Expression> merges = new ArrayList<>();
    List<Expression> values = new ArrayList<>();
    for (AggregateFunction function : functions) {
      own.addAll(list(function.aggBufferAttributes()));
      others.addAll(list(function.inputAggBufferAttributes()));
      if (function instanceof DeclarativeAggregate declarative) {
        initial.addAll(list(declarative.initialValues()));
        updates.addAll(list(declarative.updateExpressions()));
        merges.addAll(list(declarative.mergeExpressions()));
        values.add(declarative.evaluateExpression());
      } else {
        for (int i = 0; i < function.aggBufferAttributes().length(); i++) {
          initial.add(NoOp$.MODULE$);
          updates.add(NoOp$.MODULE$);
          merges.add(NoOp$.MODULE$);
        }
        values.add(NoOp$.MODULE$);
      }
    }
    initialize = MutableProjection.create(seq(initial), seq(List.of()));
    update = MutableProjection.create(seq(updates), seq(both(own, input)));
    merge = MutableProjection.create(seq(merges), seq(both(own, others)));
    evaluate = MutableProjection.create(seq(values), seq(own));
    List<Expression> stored = new ArrayList<>(own);
    store = UnsafeProjection.create(seq(stored), seq(own));
    result = UnsafeProjection.create(seq(outputs), seq(evaluated));
    columns = own;
  }

  private static List<Attribute> both(List<Attribute> first, List<Attribute> second) {
    List<Attribute> all = new ArrayList<>(first);
    all.addAll(second);
    return all;
  }

  private static <T> Seq<T> seq(List<T> items) {
    return CollectionConverters.asScala(items).toSeq();
  }

  @SuppressWarnings("unchecked")
  private static <T> List<T> list(Seq<? extends T> items) {
    return new ArrayList<>((List<T>) CollectionConverters.asJava(items));
  }
}
