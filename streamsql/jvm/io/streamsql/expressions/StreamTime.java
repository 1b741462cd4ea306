package io.streamsql.expressions;

import java.io.Serializable;

/**
 * The largest event time that a task has seen up to a row, in the order of the log. It decides
 * whether the row is late. The watermark covers earlier batches.
 */
public final class StreamTime implements Serializable {
  private static final long serialVersionUID = 1L;
  private transient boolean started;
  private transient long latest;

  /** Takes the next row's time, ms since the epoch. */
  public long observe(long time) {
    latest = started ? Math.max(latest, time) : time;
    started = true;
    return latest;
  }

  @Override
  public String toString() {
    return "stream time";
  }
}
