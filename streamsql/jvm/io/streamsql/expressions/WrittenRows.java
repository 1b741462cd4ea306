package io.streamsql.expressions;

import io.streamsql.monitoring.QueryMetrics;
import java.io.Serializable;

/** Counts the rows of sinks that do not acknowledge single rows, such as files. */
public final class WrittenRows implements Serializable {
  private static final long serialVersionUID = 1L;
  private final String query;

  WrittenRows(String query) {
    this.query = query;
  }

  /** Counts a row; always true. */
  public boolean count() {
    QueryMetrics.of(query).wrote();
    return true;
  }

  @Override
  public String toString() {
    return "written rows";
  }
}
