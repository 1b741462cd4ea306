package io.streamsql.operators.aggregates;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * The rows before a row that its aggregate includes.
 *
 * @param rows their number; -1: unbounded
 * @param ms their maximum age; -1: unbounded
 * @param peers whether later rows of the same time are included
 */
record OverFrame(int rows, long ms, boolean peers) implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Parses frames: `10,-1,false` each, separated by `;`. */
  static List<OverFrame> parse(String text) {
    List<OverFrame> frames = new ArrayList<>();
    for (String part : text.isEmpty() ? new String[0] : text.split(";", -1)) {
      String[] fields = part.split(",", -1);
      frames.add(
          new OverFrame(
              Integer.parseInt(fields[0]),
              Long.parseLong(fields[1]),
              Boolean.parseBoolean(fields[2])));
    }
    return frames;
  }

  /** Whether no row ever leaves it. */
  boolean unbounded() {
    return rows < 0 && ms < 0;
  }

  /** The index of its first row, if its last row is the current one. */
  int start(FrameRows all) {
    int last = all.size() - 1;
    if (rows >= 0) {
      return Math.max(0, last - rows);
    }
    int start = last;
    while (start > 0 && all.time(start - 1) >= all.time(last) - ms) {
      start--;
    }
    return start;
  }
}
