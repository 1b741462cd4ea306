package io.streamsql.expressions;

import io.streamsql.monitoring.ProcessingLog;
import java.io.Serializable;

/** Counts the rows that arrived after their windows had closed. */
public final class LateRows implements Serializable {
  private static final long serialVersionUID = 1L;
  private final ProcessingLog log;
  private final String step;

  LateRows(ProcessingLog log, String step) {
    this.log = log;
    this.step = step;
  }

  /** Counts a row of the time (ms) at a stream time; false: the row is dropped. */
  public boolean drop(long time, long streamTime) {
    log.lateRow(step, time, streamTime);
    return false;
  }

  @Override
  public String toString() {
    return "late rows";
  }
}
