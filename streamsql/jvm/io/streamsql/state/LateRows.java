package io.streamsql.state;

import io.streamsql.monitoring.QueryMetrics;
import io.streamsql.monitoring.QueryProgress;
import java.io.Serializable;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.StatefulStreamlineAggregateExec;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * Drops and counts the rows that Spark's windowed GROUP BY in Real-Time Mode would drop as late.
 *
 * <p>Spark counts them, too, but reports the number when the batch ends, which is up to a minute
 * later.
 */
final class LateRows extends SparkPlan {
  private static final long serialVersionUID = 1L;
  private static final ClassTag<InternalRow> ROW = ClassTag$.MODULE$.apply(InternalRow.class);

  private final SparkPlan child;

  /** Of the same watermark; its predicate says which rows are late. */
  private final StatefulStreamlineAggregateExec groups;

  private LateRows(SparkPlan child, StatefulStreamlineAggregateExec groups) {
    this.child = child;
    this.groups = groups;
  }

  /** The operator, with this before it where it drops late rows. */
  static SparkPlan before(StatefulStreamlineAggregateExec groups) {
    // Its predicate is compiled in each task: compiled here, it could not be sent there.
    boolean drops = groups.watermarkExpressionForLateEvents().isDefined();
    return drops && !(groups.child() instanceof LateRows)
        ? groups.withNewChildInternal(new LateRows(groups.child(), groups))
        : groups;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    // Spark's own list of queries is that of another session: each query has a copy of its own.
    return QueryProgress.nameOf(groups.getStateInfo().queryRunId())
        .map(query -> child.execute().mapPartitions(new InTask(groups, query), true, ROW))
        .orElseGet(child::execute); // Nothing is counted of it: Spark drops the rows.
  }

  @Override
  public Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return child.outputPartitioning();
  }

  @Override
  public Seq<SparkPlan> children() {
    return scala.jdk.javaapi.CollectionConverters.asScala(java.util.List.of(child)).toList();
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return new LateRows(children.head(), groups);
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int place) {
    return child;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof LateRows;
  }

  /** For Spark, which sends it to executors. */
  private static final class InTask
      extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;
    private final StatefulStreamlineAggregateExec groups;
    private final String query;

    InTask(StatefulStreamlineAggregateExec groups, String query) {
      this.groups = groups;
      this.query = query;
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
      BasePredicate late = groups.watermarkPredicateForDataForLateEvents().get();
      QueryMetrics metrics = QueryMetrics.of(query);
      return new AbstractIterator<>() {
        private InternalRow next;

        @Override
        public boolean hasNext() {
          while (next == null && rows.hasNext()) {
            InternalRow row = rows.next();
            if (late.eval(row)) {
              metrics.late();
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
