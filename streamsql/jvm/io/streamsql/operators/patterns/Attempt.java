package io.streamsql.operators.patterns;

import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * An attempt to match from a certain row: its possible continuations in order of preference, and
 * the preferred complete one. Continuations that are preferred less than that are dropped.
 */
final class Attempt {
  private static final int MOST = 10_000;

  /** Decides whether a row matches a variable, as {@link MatchConditions#taken}. */
  interface Judge {
    byte[][] taken(long start, Labels labels, int variable, byte[][] before);
  }

  private static final class Way {
    final int place;
    final Labels labels;
    final byte[][] totals;

    Way(int place, Labels labels, byte[][] totals) {
      this.place = place;
      this.labels = labels;
      this.totals = totals;
    }
  }

  private final long start;
  private final long time;
  private List<Way> ways = new ArrayList<>();
  private int length;
  private Labels found;

  private Attempt(long start, long time) {
    this.start = start;
    this.time = time;
  }

  /** An attempt from the row of that number and time, which it has not taken yet. */
  static Attempt at(long start, long time, MatchProgram program, int totals) {
    Attempt attempt = new Attempt(start, time);
    program.follow(
        0, (place, complete) -> attempt.ways.add(new Way(place, Labels.NONE, new byte[totals][])));
    return attempt;
  }

  long start() {
    return start;
  }

  /** The time of its first row. */
  long time() {
    return time;
  }

  /** The number of the row that it takes next. */
  long next() {
    return start + length;
  }

  /** Whether further rows cannot change the result. */
  boolean decided() {
    return ways.isEmpty();
  }

  /** The match; null: there is none, so far. */
  Labels found() {
    return found;
  }

  /** Ends the attempt: the result is what was found so far, if anything. */
  void end() {
    ways = new ArrayList<>();
  }

  /** Takes the next row. */
  void step(MatchProgram program, History history, Judge judge) {
    Ways next = new Ways(history);
    for (Way way : ways) {
      int variable = program.variable(way.place);
      Labels labels = way.labels.with(variable);
      byte[][] totals = judge.taken(start, labels, variable, way.totals);
      if (totals != null && goesOn(program, way.place + 1, labels, totals, next)) {
        found = labels;
        break;
      }
    }
    ways = next.all;
    length++;
  }

  /** Whether the match is complete there; otherwise, its possible continuations. */
  private static boolean goesOn(
      MatchProgram program, int place, Labels labels, byte[][] totals, Ways next) {
    boolean[] complete = new boolean[1];
    program.follow(
        place,
        (at, end) -> {
          if (end) {
            complete[0] = true;
          } else {
            next.add(new Way(at, labels, totals));
          }
          return !end;
        });
    return complete[0];
  }

  /** Removes continuations that equal one before them. */
  private static final class Ways {
    private final List<Way> all = new ArrayList<>();
    private final History history;
    private final Map<Integer, Way> first = new HashMap<>();
    private final Map<Integer, Set<List<Integer>>> seen = new HashMap<>();

    Ways(History history) {
      this.history = history;
    }

    void add(Way way) {
      Way other = first.putIfAbsent(way.place, way);
      if (other != null) {
        Set<List<Integer>> known = seen.computeIfAbsent(way.place, p -> new HashSet<>());
        if (known.isEmpty()) {
          known.add(history.of(other.labels));
        }
        if (!known.add(history.of(way.labels))) {
          return;
        }
      }
      all.add(way);
      if (all.size() > MOST) {
        throw new CodedException(
            ErrorCode.MATCH_AMBIGUOUS,
            "a match of MATCH_RECOGNIZE has more than "
                + MOST
                + " possible continuations: its conditions are not selective enough, or "
                + "WITHIN allows it to be too long");
      }
    }
  }

  // -- encoding ------------------------------------------------------------------------------

  int size() {
    int size = 2 * Long.BYTES + 3 * Integer.BYTES + (found == null ? 0 : found.size());
    for (Way way : ways) {
      size += Integer.BYTES + way.labels.size();
      for (byte[] total : way.totals) {
        size += Integer.BYTES + (total == null ? 0 : total.length);
      }
    }
    return size;
  }

  void store(ByteBuffer out) {
    out.putLong(start).putLong(time).putInt(length).putInt(found == null ? 0 : 1);
    if (found != null) {
      found.store(out);
    }
    out.putInt(ways.size());
    for (Way way : ways) {
      out.putInt(way.place);
      way.labels.store(out);
      for (byte[] total : way.totals) {
        out.putInt(total == null ? -1 : total.length);
        if (total != null) {
          out.put(total);
        }
      }
    }
  }

  static Attempt load(ByteBuffer in, int totals) {
    Attempt attempt = new Attempt(in.getLong(), in.getLong());
    attempt.length = in.getInt();
    attempt.found = in.getInt() == 0 ? null : Labels.load(in);
    for (int count = in.getInt(); count > 0; count--) {
      int place = in.getInt();
      Labels labels = Labels.load(in);
      byte[][] stored = new byte[totals][];
      for (int i = 0; i < totals; i++) {
        int size = in.getInt();
        if (size >= 0) {
          stored[i] = new byte[size];
          in.get(stored[i]);
        }
      }
      attempt.ways.add(new Way(place, labels, stored));
    }
    return attempt;
  }
}
