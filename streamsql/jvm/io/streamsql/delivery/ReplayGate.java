package io.streamsql.delivery;

import io.streamsql.delivery.CommitToken.Reached;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * Separates the rows of a task that an earlier run has committed from those to be written, and
 * counts the task's progress.
 *
 * <p>A partition's records cause their rows in the order of their offsets, and the rows of one
 * record come in the same order each time. So the last record that caused a committed row, and the
 * number of its committed rows, decide for each row whether it was committed.
 */
final class ReplayGate {
  private final boolean mutesAll;
  private final Map<Integer, Reached> committed;
  private final Map<Integer, Reached> seen = new HashMap<>();

  private ReplayGate(boolean mutesAll, Map<Integer, Reached> committed) {
    this.mutesAll = mutesAll;
    this.committed = committed;
  }

  /** A gate that lets all rows pass. */
  static ReplayGate open() {
    return new ReplayGate(false, Map.of());
  }

  /**
   * The gate of a task of {@code batch}.
   *
   * @param own the newest token of the task of that number; null: none
   * @param all the newest tokens of all tasks of the query: another task may have had a record's
   *     partition
   */
  static ReplayGate of(
      Delivery.Replay replay, long batch, CommitToken own, Collection<CommitToken> all) {
    if (replay == Delivery.Replay.SOURCE) {
      Map<Integer, Reached> furthest = new HashMap<>();
      all.forEach(
          token -> token.reached().forEach((p, r) -> furthest.merge(p, r, Reached::orLater)));
      return new ReplayGate(false, furthest);
    }
    if (own == null || own.batch() < batch) {
      return open();
    }
    return new ReplayGate(own.complete(), own.reached());
  }

  /** Whether the task has nothing to write. */
  boolean isClosed() {
    return mutesAll;
  }

  /** Whether to write a row, the next one that this record has caused. */
  boolean lets(int partition, long offset) {
    Reached last = seen.get(partition);
    long row = last != null && last.offset() == offset ? last.rows() + 1 : 1;
    seen.put(partition, new Reached(offset, row));
    Reached done = committed.get(partition);
    return done == null || offset > done.offset() || (offset == done.offset() && row > done.rows());
  }

  /** The position of the last row that was asked for or, before the first, committed. */
  Map<Integer, Reached> reached() {
    Map<Integer, Reached> all = new HashMap<>(committed);
    seen.forEach((partition, place) -> all.merge(partition, place, Reached::orLater));
    return all;
  }
}
