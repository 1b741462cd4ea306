package io.streamsql.source;

import java.util.HashSet;
import java.util.Set;

/** The inputs of a query that have begun the present micro-batch: each begins it once. */
final class Round {
  private final Set<Object> begun = new HashSet<>();

  /** Whether an input is the first one of a round: the last round ended when it begins again. */
  boolean beginsWith(Object input) {
    if (!begun.add(input)) {
      begun.clear();
      begun.add(input);
    }
    return begun.size() == 1;
  }
}
