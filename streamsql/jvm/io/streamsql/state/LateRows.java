package io.streamsql.state;

import java.io.Serializable;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.StatefulStreamlineAggregateExec;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * Drops the rows that Spark's windowed GROUP BY in real-time mode would drop as late for earlier
 * batches, and reports them as {@link io.streamsql.expressions.LateRows} does those of the batch.
 *
 * <p>Spark counts them, too, but reports the number when the batch ends, up to a minute later.
 */
final class LateRows extends DerivedNode {
  private static final long serialVersionUID = 1L;
  private static final ClassTag<InternalRow> ROW = ClassTag$.MODULE$.apply(InternalRow.class);

  private static final String TIME = "$time";

  private final SparkPlan child;
  private final InTask task;

  private LateRows(SparkPlan child, InTask task) {
    super(child);
    this.child = child;
    this.task = task;
  }

  /** The operator, with this before it if it drops late rows whose time is known. */
  static SparkPlan before(StatefulStreamlineAggregateExec groups) {
    boolean drops = groups.watermarkExpressionForLateEvents().isDefined();
    if (!drops || groups.child() instanceof LateRows) {
      return groups;
    }
    Optional<io.streamsql.expressions.LateRows> report = reportBelow(groups.child());
    int time = placeOfTime(groups);
    return report.isPresent() && time >= 0
        ? groups.withNewChildInternal(
            new LateRows(
                groups.child(), new InTask(groups, report.get(), time, streamTime(groups))))
        : groups; // Spark drops them, and counts them at the end of the batch.
  }

  /** The object to which the filter before the GROUP BY reports late rows of a batch. */
  private static Optional<io.streamsql.expressions.LateRows> reportBelow(SparkPlan plan) {
    Stream<Object> own = list(plan.expressions()).stream().flatMap(LateRows::constants);
    return own.filter(io.streamsql.expressions.LateRows.class::isInstance)
        .map(io.streamsql.expressions.LateRows.class::cast)
        .findFirst()
        .or(
            () ->
                list(plan.children()).stream()
                    .flatMap(child -> reportBelow(child).stream())
                    .findFirst());
  }

  private static Stream<Object> constants(Expression expression) {
    return expression instanceof Literal constant
        ? Stream.ofNullable(constant.value())
        : list(expression.children()).stream().flatMap(LateRows::constants);
  }

  /**
   * The index of a row's time in the operator's input, which is keys and the buffers of one row, of
   * which one is the largest time. -1 if no result has it.
   */
  private static int placeOfTime(StatefulStreamlineAggregateExec groups) {
    List<Attribute> columns = list(groups.child().output());
    return list(groups.aggregateExpressions()).stream()
        .map(call -> call.aggregateFunction())
        .filter(
            function ->
                function instanceof Max max
                    && max.child() instanceof AttributeReference of
                    && of.name().equals(TIME))
        .map(function -> function.inputAggBufferAttributes().head().exprId())
        .flatMapToInt(
            id ->
                IntStream.range(0, columns.size())
                    .filter(place -> columns.get(place).exprId().equals(id)))
        .findFirst()
        .orElse(-1);
  }

  /** The stream time (ms) at the start of the batch: Spark's watermark is behind it by grace. */
  private static long streamTime(StatefulStreamlineAggregateExec groups) {
    long grace =
        list(groups.keyExpressions()).stream()
            .filter(key -> key.metadata().contains(EventTimeWatermark.delayKey()))
            .mapToLong(key -> key.metadata().getLong(EventTimeWatermark.delayKey()))
            .findFirst()
            .orElse(0);
    return (Long) groups.eventTimeWatermarkForEviction().get() + grace;
  }

  private static <T> List<T> list(Seq<T> found) {
    return CollectionConverters.asJava(found);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child.execute().mapPartitions(task, true, ROW);
  }

  @Override
  SparkPlan over(SparkPlan other) {
    return new LateRows(other, task);
  }

  /** For Spark, which serializes it for executors. */
  private static final class InTask
      extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Of the same watermark; its predicate decides which rows are late. */
    private final StatefulStreamlineAggregateExec groups;

    private final io.streamsql.expressions.LateRows report;
    private final int time;
    private final long streamTime;

    InTask(
        StatefulStreamlineAggregateExec groups,
        io.streamsql.expressions.LateRows report,
        int time,
        long streamTime) {
      this.groups = groups;
      this.report = report;
      this.time = time;
      this.streamTime = streamTime;
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
      // Compiled here: the compiled object is not serializable.
      BasePredicate late = groups.watermarkPredicateForDataForLateEvents().get();
      return new AbstractIterator<>() {
        private InternalRow next;

        @Override
        public boolean hasNext() {
          while (next == null && rows.hasNext()) {
            InternalRow row = rows.next();
            if (late.eval(row)) {
              report.drop(row.getLong(time), streamTime);
            } else {
              next = row;
            }
          }
          return next != null;
        }

        @Override
        public InternalRow next() {
          InternalRow found = hasNext() ? next : rows.next();
          next = null;
          return found;
        }
      };
    }
  }
}
