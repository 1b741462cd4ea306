package io.streamsql.expressions;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Refers to whole rows, so that Spark's optimizer keeps all of their columns: a column that it
 * removed behind an aggregation would be missing in the aggregation's state.
 */
public final class WholeRows implements Serializable {
  private static final long serialVersionUID = 1L;

  public boolean pass(InternalRow row) {
    return true;
  }

  @Override
  public String toString() {
    return "whole rows";
  }
}
