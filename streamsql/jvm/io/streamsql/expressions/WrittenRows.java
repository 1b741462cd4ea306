package io.streamsql.expressions;

import io.streamsql.monitoring.QueryMetrics;
import java.io.Serializable;

/** Counts the rows that go where nothing acknowledges each of them, as files. */
public final class WrittenRows implements Serializable {
  private static final long serialVersionUID = 1L;
  private final String query;

  WrittenRows(String query) {
    this.query = query;
  }

  /** Counts a row; true: it is written. */
  public boolean count() {
    QueryMetrics.of(query).wrote();
    return true;
  }

  @Override
  public String toString() {
    return "written rows";
  }
}
