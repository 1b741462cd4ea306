package io.streamsql.serving;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.epochs.EpochMarks;
import io.streamsql.formats.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;

/** The epoch as of which a query reads its views: one that all of their stores have kept. */
public final class CommonEpoch {
  /** There is no such epoch, or no view. */
  public static final long NONE = -1;

  /** A view has not come so far in time: it is paused, slow, or has failed. */
  public static final long LATE = -2;

  private static final long PATIENCE_NANOS = 10_000_000_000L;
  private static final long LOOK_MILLIS = 5;

  private record View(TableStore store, LongSupplier begun) {
    Moments moments() {
      return store.moments();
    }
  }

  private final List<View> views = new ArrayList<>();

  /**
   * Adds a view. One that has done no epoch yet is awaited, unless it is the only one.
   *
   * @param begun the number of the newest epoch, which the view may still have to do
   */
  void add(TableStore store, LongSupplier begun) {
    views.add(new View(store, begun));
  }

  /** The newest epoch that any of the stores has now; 0: none. */
  public long current() {
    long found = 0;
    for (View view : views) {
      Long last = view.moments().floor(Long.MAX_VALUE);
      found = last == null ? found : Math.max(found, last);
    }
    return found;
  }

  /** The newest one, without waiting: NONE also while the views have none in common. */
  long newest() {
    if (views.size() == 1) {
      // One view alone is always of one moment, also between two epochs.
      return views.get(0).store().epoch();
    }
    Long found = views.isEmpty() ? null : floor(Long.MAX_VALUE);
    return found == null ? NONE : found;
  }

  /**
   * The newest one. A store that has just been opened may have none yet.
   *
   * @param least the number that it has at least
   * @return its number, NONE or LATE
   */
  public long newest(long least) throws InterruptedException {
    if (views.isEmpty()) {
      return NONE;
    }
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    while (true) {
      Long found = floor(Long.MAX_VALUE);
      if (views.size() == 1 && (least == 0 || (found != null && found >= least))) {
        return newest();
      }
      if (found != null && found >= least) {
        return found;
      }
      if (System.nanoTime() > deadline) {
        return LATE;
      }
      Thread.sleep(LOOK_MILLIS);
    }
  }

  /**
   * The newest one that began at a time or before it. The answer is final: it waits until no view
   * has an epoch before that time still to do.
   *
   * @param time in ms, not after now
   * @return its number, NONE or LATE
   */
  public long asOf(long time) throws InterruptedException {
    if (views.isEmpty()) {
      return NONE;
    }
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    while (!views.stream().allMatch(view -> hasPassed(view, time))) {
      if (System.nanoTime() > deadline) {
        return LATE;
      }
      Thread.sleep(LOOK_MILLIS);
    }
    Long found = floor(Long.MAX_VALUE);
    while (found != null && began(found) > time) {
      found = floor(found - 1);
    }
    return found == null ? NONE : found;
  }

  private static boolean hasPassed(View view, long time) {
    Long last = view.moments().floor(Long.MAX_VALUE);
    Long began = last == null ? null : view.moments().began(last);
    return began != null && (began > time || last >= view.begun().getAsLong());
  }

  /** Whether all views have kept an epoch. */
  public boolean has(long epoch) {
    return !views.isEmpty() && views.stream().allMatch(view -> view.moments().began(epoch) != null);
  }

  /**
   * What all views have kept, as JSON: {@code first} and {@code last}, and those {@code before} and
   * {@code after} an epoch. Each is its number and the time at which it began, or is not there.
   */
  public String around(long epoch) {
    ObjectNode found = Json.TREES.createObjectNode();
    if (!views.isEmpty()) {
      put(found, "first", common(0, Moments::ceiling));
      put(found, "last", floor(Long.MAX_VALUE));
      put(found, "before", floor(epoch - 1));
      put(found, "after", common(epoch + 1, Moments::ceiling));
    }
    return found.toString();
  }

  private void put(ObjectNode found, String name, Long epoch) {
    if (epoch != null) {
      found.putArray(name).add(epoch).add(began(epoch));
    }
  }

  private long began(long epoch) {
    Long found = views.get(0).moments().began(epoch);
    return found == null ? Long.MAX_VALUE : found;
  }

  /** The newest epoch that all have kept, not after this one; null: none. */
  private Long floor(long epoch) {
    return common(epoch, Moments::floor);
  }

  private Long common(long from, BiFunction<Moments, Long, Long> nearest) {
    List<UnaryOperator<Long>> known = new ArrayList<>();
    views.forEach(view -> known.add(at -> nearest.apply(view.moments(), at)));
    return EpochMarks.nearestOfAll(known, from);
  }
}
