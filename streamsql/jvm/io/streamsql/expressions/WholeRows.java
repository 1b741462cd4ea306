package io.streamsql.expressions;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Looks at whole rows, for Spark's optimiser to leave all of their columns: what it took away
 * behind an aggregation would be missing in the aggregation's state.
 */
public final class WholeRows implements Serializable {
  private static final long serialVersionUID = 1L;

  /** True: there is nothing wrong with any. */
  public boolean pass(InternalRow row) {
    return true;
  }

  @Override
  public String toString() {
    return "whole rows";
  }
}
