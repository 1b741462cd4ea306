package io.streamsql.operators.patterns;

import java.io.Serializable;

/**
 * Where the next match may begin: after the last row of one; after its first; or with the first or
 * the last row of a variable, but never with the row that the match itself began with.
 */
record SkipRule(Kind kind, int variable) implements Serializable {
  private static final long serialVersionUID = 1L;

  enum Kind {
    PAST_LAST_ROW,
    NEXT_ROW,
    FIRST,
    LAST
  }

  /** `NEXT_ROW`, or `LAST,2`. */
  static SkipRule parse(String text) {
    String[] parts = text.split(",", -1);
    return new SkipRule(Kind.valueOf(parts[0]), parts.length > 1 ? Integer.parseInt(parts[1]) : -1);
  }

  /** Whether matches may overlap from the second row on. */
  boolean overlapping() {
    return kind == Kind.NEXT_ROW;
  }

  /** The number of the row with which the next match may begin. */
  long next(long start, Labels labels) {
    int place =
        switch (kind) {
          case PAST_LAST_ROW -> labels.length();
          case NEXT_ROW -> 1;
          case FIRST -> labels.first(variable, 0);
          case LAST -> labels.last(variable, 0);
        };
    return start + Math.max(place, 1);
  }
}
