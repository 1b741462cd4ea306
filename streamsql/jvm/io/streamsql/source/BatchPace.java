package io.streamsql.source;

import java.util.concurrent.TimeUnit;

/**
 * The pause of a query between two micro-batches. A batch has a fixed cost however few records it
 * has: without a pause, some hundred records a second keep a core busy. The pause is bounded, so a
 * query with lag loses little, and the first record after a quiet time does not wait.
 */
final class BatchPace {
  /** The ratio of a pause to the last batch's duration. */
  private static final int SHARE = 3;

  private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(1);

  private long began;
  private boolean hasBegun;

  /** A batch begins at this time, by {@link System#nanoTime}. */
  void begins(long now) {
    began = now;
    hasBegun = true;
  }

  /** The pause in nanoseconds if the previous batch ended at this time. */
  long rest(long now) {
    return hasBegun ? Math.min(MOST_NANOS, SHARE * (now - began)) : 0;
  }
}
