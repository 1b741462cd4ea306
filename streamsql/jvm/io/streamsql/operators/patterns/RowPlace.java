package io.streamsql.operators.patterns;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * Which row of a match is meant.
 *
 * @param variable whose; ANY: all rows are
 * @param first whether it is counted from the first of them, else back from the last
 * @param offset so many of them from there
 * @param back so many rows of the partition before that, whatever they are
 */
record RowPlace(int variable, boolean first, int offset, int back) implements Serializable {
  /** All variables together. */
  static final int ANY = -1;

  private static final long serialVersionUID = 1L;
  private static final long NOWHERE = -1;

  /** Places as text: `0,false,1,0` of each, and `;` between them. */
  static List<RowPlace> parse(String text) {
    List<RowPlace> places = new ArrayList<>();
    for (String part : text.isEmpty() ? new String[0] : text.split(";", -1)) {
      String[] fields = part.split(",", -1);
      places.add(
          new RowPlace(
              Integer.parseInt(fields[0]),
              Boolean.parseBoolean(fields[1]),
              Integer.parseInt(fields[2]),
              Integer.parseInt(fields[3])));
    }
    return places;
  }

  /** The row's number in its partition, if the match begins with that of `start`; -1: none. */
  long of(Labels labels, long start) {
    int place;
    if (variable != ANY) {
      place = first ? labels.first(variable, offset) : labels.last(variable, offset);
    } else {
      place = first ? offset : labels.length() - 1 - offset;
      place = place < labels.length() ? place : -1;
    }
    return place < 0 ? NOWHERE : Math.max(start + place - back, NOWHERE);
  }
}
