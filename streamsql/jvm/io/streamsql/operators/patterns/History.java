package io.streamsql.operators.patterns;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The part of a match's rows that conditions may still depend on: continuations at one position of
 * the pattern with equal histories have the same future.
 */
final class History {
  private final TreeMap<Integer, Integer> firsts =
      new TreeMap<>(); // by variable: the number of rows
  private final TreeMap<Integer, Integer> lasts = new TreeMap<>();
  private final TreeSet<Integer> whole = new TreeSet<>();

  History(List<RowPlace> places, Totals totals) {
    for (RowPlace place : places) {
      if (place.variable() != RowPlace.ANY) { // all continuations have the same rows
        (place.first() ? firsts : lasts).merge(place.variable(), place.offset() + 1, Math::max);
      }
    }
    for (int i = 0; i < totals.size(); i++) {
      if (totals.variable(i) != RowPlace.ANY) {
        whole.add(totals.variable(i));
      }
    }
  }

  /** Encoded as numbers. */
  List<Integer> of(Labels labels) {
    List<Integer> found = new ArrayList<>();
    firsts.forEach(
        (variable, count) -> {
          for (int i = 0; i < count; i++) {
            found.add(labels.first(variable, i));
          }
        });
    lasts.forEach(
        (variable, count) -> {
          for (int i = 0; i < count; i++) {
            found.add(labels.last(variable, i));
          }
        });
    if (!whole.isEmpty()) {
      int[] variables = labels.variables();
      for (int i = 0; i < variables.length; i++) {
        if (whole.contains(variables[i])) {
          found.add(i);
          found.add(variables[i]);
        }
      }
    }
    return found;
  }
}
