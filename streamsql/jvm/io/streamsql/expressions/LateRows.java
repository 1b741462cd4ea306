package io.streamsql.expressions;

import io.streamsql.monitoring.QueryMetrics;
import java.io.Serializable;

/** Counts the rows that came after the windows that they belong to had closed. */
public final class LateRows implements Serializable {
  private static final long serialVersionUID = 1L;
  private final String query;

  LateRows(String query) {
    this.query = query;
  }

  /** Counts a row, of the time (ms); false: it is dropped. */
  public boolean drop(long time) {
    QueryMetrics.of(query).late();
    return false;
  }

  @Override
  public String toString() {
    return "late rows";
  }
}
