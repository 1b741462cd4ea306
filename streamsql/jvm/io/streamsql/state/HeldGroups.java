package io.streamsql.state;

import java.io.Serializable;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.WidenStatefulOpNullability$;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.ProjectAggregationBufferExec;
import org.apache.spark.sql.execution.streaming.StatefulStreamlineAggregateExec;
import org.apache.spark.sql.execution.streaming.state.EvictionIterator;
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.package$;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.StructType;
import scala.Some;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;

/**
 * Spark's GROUP BY in real-time mode, with the same state, for aggregates that keep objects: lists,
 * sets, distinct values.
 *
 * <p>For each record, Spark deserializes a group's objects and serializes them twice, for the state
 * and for the results. The time grows with the group: milliseconds for a count of 20,000 distinct
 * values. Here groups stay objects until the batch ends or memory is short ({@link GroupCache}),
 * and give the results.
 *
 * <p>Spark's operators stay in the plan, where Spark looks for the state; they define the
 * processing of rows, and are not executed.
 */
public final class HeldGroups extends DerivedNode {
  private static final long serialVersionUID = 1L;
  private static final ClassTag<InternalRow> ROW = ClassTag$.MODULE$.apply(InternalRow.class);

  /** The session's setting for the maximum bytes of groups that a task holds. */
  private static final String MOST = "streamsql.groups.held.bytes";

  private static final String DEFAULT_MOST = Integer.toString(32 << 20);
  private final ProjectAggregationBufferExec results;
  private final StatefulStreamlineAggregateExec groups;

  /**
   * Spark copies its trees by this constructor.
   *
   * @param results makes results of the groups; its child keeps them
   */
  public HeldGroups(ProjectAggregationBufferExec results) {
    super(results);
    this.results = results;
    this.groups = (StatefulStreamlineAggregateExec) results.child();
  }

  /** Replaces operators whose groups have objects and of which each change gives a result. */
  static SparkPlan inPlaceOf(ProjectAggregationBufferExec results) {
    boolean held =
        results.child() instanceof StatefulStreamlineAggregateExec groups
            && groups.outputMode().contains(OutputMode.Update())
            && hasObjects(groups);
    return held ? new HeldGroups(results) : results;
  }

  private static boolean hasObjects(StatefulStreamlineAggregateExec groups) {
    return CollectionConverters.asJava(groups.aggregateExpressions()).stream()
        .anyMatch(call -> call.aggregateFunction() instanceof TypedImperativeAggregate);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    groups.metrics(); // Created here: tasks only add to them.
    long most = Long.parseLong(session().sessionState().conf().getConfString(MOST, DEFAULT_MOST));
    StructType key = widened(DataTypeUtils.fromAttributes(groups.keyExpressions()));
    return package$.MODULE$.StateStoreOps(groups.child().execute(), ROW)
        .mapPartitionsWithStateStore(
            groups.getStateInfo(),
            key,
            widened(groups.stateManager().getStateValueSchema()),
            new NoPrefixKeyStateEncoderSpec(key),
            session().sessionState(),
            new Some<>(session().streams().stateStoreCoordinator()),
            false,
            Map$.MODULE$.empty(),
            false,
            new InTask(this, most),
            ROW);
  }

  private static StructType widened(StructType type) {
    return WidenStatefulOpNullability$.MODULE$.widenStateSchema(type);
  }

  /** The results of a task's rows, and the end of its batch. */
  private Iterator<InternalRow> results(StateStore store, Iterator<InternalRow> rows, long most) {
    int partition = TaskContext.get().partitionId();
    var late = groups.watermarkPredicateForDataForLateEvents();
    Iterator<InternalRow> open =
        late.isDefined() ? groups.applyRemovingRowsOlderThanWatermark(rows, late.get()) : rows;
    GroupCache cache =
        new GroupCache(
            groups.stateManager(),
            store,
            new GroupBuffers(groups, partition),
            new GroupBuffers(results, partition),
            most);
    SQLMetric made = groups.longMetric("numOutputRows");
    return new AbstractIterator<>() {
      private boolean ended;

      @Override
      public boolean hasNext() {
        if (!ended && !open.hasNext()) {
          ended = true;
          commit(store, cache);
        }
        return !ended;
      }

      @Override
      public InternalRow next() {
        made.add(1);
        return cache.update(open.next());
      }
    };
  }

  private void commit(StateStore store, GroupCache cache) {
    cache.store();
    groups.longMetric("numUpdatedStateRows").add(cache.stored());
    EvictionIterator old =
        groups
            .stateManager()
            .evictionIterator(
                store,
                groups.eventTimeWatermarkForEviction(),
                groups.stateManager().evictionIterator$default$3());
    while (old.hasNext()) {
      old.next();
    }
    groups.longMetric("numRowsReadDuringEviction").add(old.numRowsReadDuringEvictionSoFar());
    groups.longMetric("numRemovedStateRows").add(old.numRowsRemovedSoFar());
    long begun = System.nanoTime();
    store.commit();
    groups.longMetric("commitTimeMs").add(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
    groups.setStoreMetrics(store, groups.setStoreMetrics$default$2());
    groups.setOperatorMetrics(groups.setOperatorMetrics$default$1());
  }

  @Override
  public Seq<SparkPlan> children() {
    return results.children();
  }

  @Override
  SparkPlan over(SparkPlan child) {
    return new HeldGroups((ProjectAggregationBufferExec) results.withNewChildInternal(child));
  }

  /** For Spark, which serializes it for executors. */
  private static final class InTask
      extends AbstractFunction2<StateStore, Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;
    private final HeldGroups groups;
    private final long most;

    InTask(HeldGroups groups, long most) {
      this.groups = groups;
      this.most = most;
    }

    @Override
    public Iterator<InternalRow> apply(StateStore store, Iterator<InternalRow> rows) {
      return groups.results(store, rows, most);
    }
  }
}
