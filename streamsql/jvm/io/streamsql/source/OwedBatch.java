package io.streamsql.source;

import java.util.concurrent.TimeUnit;

/**
 * The early end of a real-time batch that completes the previous one. Spark decides by time, for
 * example that no row can extend a match, in the batch after the one that has read the time.
 * Without records that is the end of a batch of a minute; such a batch ends early.
 */
final class OwedBatch {
  private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(1);

  private volatile boolean owed;
  private volatile boolean over;
  private boolean begun;
  private long end;

  /**
   * A batch begins.
   *
   * @param isOwed whether the previous batch may have left results to it
   */
  synchronized void begins(boolean isOwed) {
    owed = isOwed;
    begun = over = false;
  }

  /**
   * How long a reader waits for its next record while no reader has had one; both are times of
   * {@link System#nanoTime}.
   *
   * @param deadline of the batch
   */
  long deadline(long now, long deadline) {
    if (!owed) {
      return deadline;
    }
    synchronized (this) {
      if (!begun) {
        begun = true;
        end = now + QUIET_NANOS;
      }
      return Math.min(end, deadline);
    }
  }

  /** A reader had a record: the batch has its normal length. */
  void hasRecord() {
    if (owed) {
      synchronized (this) {
        owed = false;
      }
    }
  }

  /** A reader timed out without a record: whether the batch is over. */
  synchronized boolean isOverAt(long now) {
    over |= owed && begun && now - end >= 0;
    return over;
  }

  /** Whether the batch has ended early. */
  boolean isOver() {
    return over;
  }
}
