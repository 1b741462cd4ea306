package io.streamsql.source;

import java.util.concurrent.TimeUnit;

/**
 * How long a query in micro-batches rests between two batches. A batch costs about the same however
 * few records it has: without a rest, some hundred records a second keep a core busy. The rest is
 * bounded, so a query that is behind loses little by it, and none precedes the first record after a
 * quiet time.
 */
final class BatchPace {
  /** How much longer a query rests than its last batch took. */
  private static final int SHARE = 3;

  private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(1);

  private long began;
  private boolean hasBegun;

  /** A batch begins at this time, by {@link System#nanoTime}. */
  void begins(long now) {
    began = now;
    hasBegun = true;
  }

  /** The rest, in nanoseconds, that is due when the batch before has ended at this time. */
  long rest(long now) {
    return hasBegun ? Math.min(MOST_NANOS, SHARE * (now - began)) : 0;
  }
}
