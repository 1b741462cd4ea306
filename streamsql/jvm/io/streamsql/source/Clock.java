package io.streamsql.source;

import io.streamsql.runs.QueryRun;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * When a run of a query has work without records. Times are in milliseconds since the epoch.
 *
 * <p>Operators say when the next of their rows is due. A query whose tasks run in other processes,
 * which cannot, has a batch each second.
 */
public final class Clock implements QueryRun.Part {
  static final long NEVER = Long.MAX_VALUE;
  private static final long PERIOD = 1_000;

  private record Place(int operator, ByteBuffer key) {}

  private final Map<Place, Long> moments = new ConcurrentHashMap<>();
  private volatile long last = NEVER;

  /** That of a run. */
  static Clock of(QueryRun run) {
    return run.own(Clock.class, Clock::new);
  }

  /**
   * The next row under a key of an operator of the calling task is due at a time; null: none is.
   */
  public static void next(int operator, byte[] key, Long time) {
    QueryRun run = QueryRun.current();
    if (run != null) {
      Place place = new Place(operator, ByteBuffer.wrap(key.clone()));
      of(run).moments.put(place, time == null ? NEVER : time);
    }
  }

  /** The query had its last batch by the clock at this time; 0: it has had none. */
  void ticked(long time) {
    last = time;
  }

  /** When the next batch by the clock is due. */
  long due() {
    if (last == NEVER) {
      return NEVER;
    }
    return moments.isEmpty() ? last + PERIOD : Collections.min(moments.values());
  }
}
