package io.streamsql.state;

import java.util.function.Function;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.ProjectAggregationBufferExec;
import org.apache.spark.sql.execution.streaming.StatefulStreamlineAggregateExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;
import org.apache.spark.sql.execution.streaming.runtime.RealTimeModeAllowlist;
import scala.PartialFunction;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * An extension of Spark that adds nodes to its state operators: a {@link KeySort} before one that
 * needs rows of a key together, {@link LateRows} before a windowed GROUP BY in real-time mode, and
 * {@link HeldGroups} for one whose groups are large.
 */
public final class StateOperators extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  private static final PartialFunction<SparkPlan, SparkPlan> KEY_SORTS =
      each(TransformWithStateExec.class, StateOperators::sortedByKey);
  private static final PartialFunction<SparkPlan, SparkPlan> HELD_GROUPS =
      each(ProjectAggregationBufferExec.class, HeldGroups::inPlaceOf);
  private static final PartialFunction<SparkPlan, SparkPlan> LATE_ROWS =
      each(StatefulStreamlineAggregateExec.class, LateRows::before);

  /** For Spark. */
  public StateOperators() {}

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectColumnar(
        new AbstractFunction1<>() {
          @Override
          public ColumnarRule apply(SparkSession session) {
            return new AfterSorts();
          }
        });
    return BoxedUnit.UNIT;
  }

  private static SparkPlan sortedByKey(TransformWithStateExec operator) {
    return operator.child() instanceof SortExec sort && !operator.hasInitialState()
        ? operator.withNewChildrenInternal(KeySort.inPlaceOf(sort), operator.initialState())
        : operator;
  }

  private static <T extends SparkPlan> PartialFunction<SparkPlan, SparkPlan> each(
      Class<T> type, Function<T, SparkPlan> replacement) {
    return new AbstractPartialFunction<>() {
      @Override
      public boolean isDefinedAt(SparkPlan plan) {
        return type.isInstance(plan);
      }

      @Override
      public SparkPlan apply(SparkPlan plan) {
        return replacement.apply(type.cast(plan));
      }
    };
  }

  /**
   * Not about columns: this extension point is the one that sees a plan with its sorts. Spark's
   * check for real-time mode rejects unknown operators and is switched off; it is done here, on
   * Spark's own plan.
   */
  private static final class AfterSorts extends ColumnarRule {
    @Override
    public Rule<SparkPlan> preColumnarTransitions() {
      return new Rule<>() {
        @Override
        public SparkPlan apply(SparkPlan plan) {
          RealTimeModeAllowlist.checkAllowedPhysicalOperator(plan, true);
          return plan.transform(KEY_SORTS).transform(LATE_ROWS).transform(HELD_GROUPS);
        }
      };
    }
  }
}
