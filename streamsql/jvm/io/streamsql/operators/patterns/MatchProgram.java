package io.streamsql.operators.patterns;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * A pattern compiled to a program, which is run along several continuations at a time. Its
 * instructions: take a row as one of a variable; fork to two positions, of which the first is
 * preferred; the match is complete.
 */
final class MatchProgram implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int FORK = -1;
  private static final int END = -2;
  private final int[] operations; // a variable's number, FORK or END
  private final int[] first;
  private final int[] second;

  /** Receives the positions at which a continuation may proceed, in order of preference. */
  interface Visitor {
    /** Whether to visit further positions. A position without a row completes the match. */
    boolean at(int place, boolean complete);
  }

  private MatchProgram(List<int[]> instructions) {
    operations = instructions.stream().mapToInt(i -> i[0]).toArray();
    first = instructions.stream().mapToInt(i -> i[1]).toArray();
    second = instructions.stream().mapToInt(i -> i[2]).toArray();
  }

  /** `0;f3,1;e`: a row of variable 0, a fork to 3 or else 1, the end. */
  static MatchProgram parse(String text) {
    List<int[]> instructions = new ArrayList<>();
    for (String part : text.split(";", -1)) {
      if (part.equals("e")) {
        instructions.add(new int[] {END, 0, 0});
      } else if (part.startsWith("f")) {
        String[] places = part.substring(1).split(",", -1);
        instructions.add(
            new int[] {FORK, Integer.parseInt(places[0]), Integer.parseInt(places[1])});
      } else {
        instructions.add(new int[] {Integer.parseInt(part), 0, 0});
      }
    }
    return new MatchProgram(instructions);
  }

  /** The variable of the row at the position. */
  int variable(int place) {
    return operations[place];
  }

  /** All positions with rows that are reachable without taking a row. */
  void follow(int place, Visitor visitor) {
    follow(place, visitor, new boolean[operations.length]);
  }

  private boolean follow(int place, Visitor visitor, boolean[] seen) {
    if (seen[place]) {
      return true; // reached already with higher preference, or by a loop without rows
    }
    seen[place] = true;
    if (operations[place] == FORK) {
      return follow(first[place], visitor, seen) && follow(second[place], visitor, seen);
    }
    return visitor.at(place, operations[place] == END);
  }
}
