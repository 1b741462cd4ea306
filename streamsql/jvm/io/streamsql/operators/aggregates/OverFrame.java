package io.streamsql.operators.aggregates;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * Which rows before a row an aggregate takes in besides it.
 *
 * @param rows so many; -1: that is no bound
 * @param ms those of so long before its time; -1: that is no bound
 * @param peers whether also those that come after it and have the same time
 */
record OverFrame(int rows, long ms, boolean peers) implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Frames as text: `10,-1,false` of each, and `;` between them. */
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

  /** The first of its rows, if the last of those is the one that it is of. */
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
