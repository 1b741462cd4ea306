package io.streamsql.lookups;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Limits the rate per second; an unused share of the last moment may be used at once. */
final class RateLimit {
  private static final long BURST = TimeUnit.MILLISECONDS.toNanos(100);

  private final long interval;
  private final LongSupplier clock;
  private long next;

  /**
   * @param perSecond 0: unlimited
   * @param clock nanoseconds
   */
  RateLimit(int perSecond, LongSupplier clock) {
    this.interval = perSecond == 0 ? 0 : TimeUnit.SECONDS.toNanos(1) / perSecond;
    this.clock = clock;
    this.next = clock.getAsLong();
  }

  /** Takes the next turn; returns the nanoseconds to wait for it. */
  synchronized long turn() {
    if (interval == 0) {
      return 0;
    }
    long now = clock.getAsLong();
    if (now - next > BURST) {
      next = now - BURST;
    }
    long wait = next - now;
    next += interval;
    return Math.max(wait, 0);
  }
}
