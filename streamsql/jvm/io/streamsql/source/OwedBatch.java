package io.streamsql.source;

import java.util.concurrent.TimeUnit;

/**
 * The end of a real-time batch that is there for the one before. Spark decides what time alone
 * decides, such as a match that no row can extend any more, in the batch after the one that has
 * read the time. Where no records come, that is at the end of a batch of a minute; such a batch
 * ends early.
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
   * @param isOwed whether the batch before may have left results to it
   */
  synchronized void begins(boolean isOwed) {
    owed = isOwed;
    begun = over = false;
  }

  /**
   * How long a reader waits for its next record, where no reader had one yet; both are times of
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

  /** A reader had a record: the batch lasts as long as any other. */
  void hasRecord() {
    if (owed) {
      synchronized (this) {
        owed = false;
      }
    }
  }

  /** A reader had none in time: whether the batch is over. */
  synchronized boolean isOverAt(long now) {
    over |= owed && begun && now - end >= 0;
    return over;
  }

  /** Whether the batch has ended early. */
  boolean isOver() {
    return over;
  }
}
