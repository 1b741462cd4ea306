package io.streamsql.operators.patterns;

import java.nio.ByteBuffer;

/**
 * The variables of a match's rows, from its first one on, run-length encoded. Immutable, so that
 * continuations share their beginning.
 */
final class Labels {
  /** The labels of no rows. */
  static final Labels NONE = new Labels(null, -1, 0);

  private static final int SIZE = Short.BYTES + Integer.BYTES;
  private final Labels before;
  private final int variable;
  private final int count;
  private final int length;
  private final int runs;

  private Labels(Labels before, int variable, int count) {
    this.before = before;
    this.variable = variable;
    this.count = count;
    this.length = count + (before == null ? 0 : before.length);
    this.runs = before == null ? 0 : before.runs + 1;
  }

  /** These and a row of the variable. */
  Labels with(int of) {
    return of == variable ? new Labels(before, variable, count + 1) : new Labels(this, of, 1);
  }

  /** The number of rows. */
  int length() {
    return length;
  }

  /** The index of the row of the variable that many before its last; -1: there is none. */
  int last(int of, int offset) {
    int left = offset;
    int end = length;
    for (Labels run = this; run.before != null; run = run.before) {
      if (run.variable == of) {
        if (left < run.count) {
          return end - 1 - left;
        }
        left -= run.count;
      }
      end -= run.count;
    }
    return -1;
  }

  /** The index of the row of the variable that many after its first; -1: there is none. */
  int first(int of, int offset) {
    int count = count(of);
    return offset < count ? last(of, count - 1 - offset) : -1;
  }

  /** The number of rows of the variable. */
  int count(int of) {
    int rows = 0;
    for (Labels run = this; run.before != null; run = run.before) {
      rows += run.variable == of ? run.count : 0;
    }
    return rows;
  }

  /** For each row its variable. */
  int[] variables() {
    int[] all = new int[length];
    int end = length;
    for (Labels run = this; run.before != null; run = run.before) {
      java.util.Arrays.fill(all, end - run.count, end, run.variable);
      end -= run.count;
    }
    return all;
  }

  /** The number of bytes that {@link #store} takes. */
  int size() {
    return Integer.BYTES + runs * SIZE;
  }

  void store(ByteBuffer out) {
    out.putInt(runs);
    storeRuns(this, out);
  }

  private static void storeRuns(Labels last, ByteBuffer out) {
    int start = out.position();
    int end = start + last.runs * SIZE;
    int at = end;
    for (Labels run = last; run.before != null; run = run.before) {
      at -= SIZE;
      out.putShort(at, (short) run.variable).putInt(at + Short.BYTES, run.count);
    }
    out.position(end);
  }

  static Labels load(ByteBuffer in) {
    Labels labels = NONE;
    for (int runs = in.getInt(); runs > 0; runs--) {
      int variable = in.getShort();
      labels = new Labels(labels, variable, in.getInt());
    }
    return labels;
  }
}
