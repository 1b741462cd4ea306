package io.streamsql.operators.patterns;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * Refers to a row of a match.
 *
 * @param variable of the row; ANY: all variables
 * @param first whether it is counted from the first row, else back from the last
 * @param offset the distance from there
 * @param back the further distance backwards, over all rows of the partition
 */
record RowPlace(int variable, boolean first, int offset, int back) implements Serializable {
  /** All variables together. */
  static final int ANY = -1;

  private static final long serialVersionUID = 1L;
  private static final long NOWHERE = -1;

  /** Parses places: `0,false,1,0` each, separated by `;`. */
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
