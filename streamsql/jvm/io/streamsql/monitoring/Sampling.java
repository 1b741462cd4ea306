package io.streamsql.monitoring;

/** Lets at most a given number of events a minute pass: the first ones. */
final class Sampling {
  private static final long MINUTE_MS = 60_000;

  private final int perMinute;
  private long began = Long.MIN_VALUE;
  private int taken;

  Sampling(int perMinute) {
    this.perMinute = perMinute;
  }

  /** Whether an event at this time (ms) is one of the sample. */
  synchronized boolean takes(long now) {
    if (began == Long.MIN_VALUE || now - began >= MINUTE_MS) {
      began = now;
      taken = 0;
    }
    if (taken == perMinute) {
      return false;
    }
    taken++;
    return true;
  }
}
