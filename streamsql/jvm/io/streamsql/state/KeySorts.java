package io.streamsql.state;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;
import scala.PartialFunction;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * An extension of Spark's: before a state operator, which wants rows of the same key beside each
 * other, they are sorted by a {@link KeySort}.
 */
public final class KeySorts extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  private static final PartialFunction<SparkPlan, SparkPlan> BEFORE_STATE =
      new AbstractPartialFunction<>() {
        @Override
        public boolean isDefinedAt(SparkPlan plan) {
          return plan instanceof TransformWithStateExec operator
              && !operator.hasInitialState()
              && operator.child() instanceof SortExec;
        }

        @Override
        public SparkPlan apply(SparkPlan plan) {
          TransformWithStateExec operator = (TransformWithStateExec) plan;
          SparkPlan sort = KeySort.inPlaceOf((SortExec) operator.child());
          return operator.withNewChildrenInternal(sort, operator.initialState());
        }
      };

  /** For Spark. */
  public KeySorts() {}

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

  /** Not about columns: of Spark's extensions the one that sees a plan with its sorts. */
  private static final class AfterSorts extends ColumnarRule {
    @Override
    public Rule<SparkPlan> preColumnarTransitions() {
      return new Rule<>() {
        @Override
        public SparkPlan apply(SparkPlan plan) {
          return plan.transform(BEFORE_STATE);
        }
      };
    }
  }
}
