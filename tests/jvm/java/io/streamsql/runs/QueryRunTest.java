package io.streamsql.runs;

import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.EnumSet;
import java.util.Iterator;
import org.junit.jupiter.api.Test;

class QueryRunTest {
  /** Parts of 17 classes: two of them share one of the 16 bins of a new ConcurrentHashMap. */
  private enum Nested implements QueryRun.Part {
    A {},
    B {},
    C {},
    D {},
    E {},
    F {},
    G {},
    H {},
    I {},
    J {},
    K {},
    L {},
    M {},
    N {},
    O {},
    P {},
    Q {}
  }

  /** The first part, whose maker asks for the next one, and so on. */
  @SuppressWarnings("unchecked")
  private static QueryRun.Part own(QueryRun run, Iterator<? extends QueryRun.Part> parts) {
    QueryRun.Part part = parts.next();
    return run.own(
        (Class<QueryRun.Part>) (Class<?>) part.getClass(),
        () -> {
          if (parts.hasNext()) {
            own(run, parts);
          }
          return part;
        });
  }

  @Test
  void aPartIsMadeOfOtherParts() {
    QueryRun run = QueryRun.open((String) null, "nested");
    assertSame(Nested.A, own(run, EnumSet.allOf(Nested.class).iterator()));
  }
}
