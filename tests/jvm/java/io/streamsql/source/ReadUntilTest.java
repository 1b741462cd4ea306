package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Where the batches of a query end that is to read no further than some offsets. */
final class ReadUntilTest {
  private static final String START = "{\"t\":{\"0\":5,\"1\":7}}";
  private static final String END = "{\"t\":{\"0\":20,\"1\":30}}";

  @AfterEach
  void clear() {
    ReadUntil.clear("q");
  }

  private static String bounded(String bounds) {
    ReadUntil.set("q", bounds);
    return ReadUntil.bounded("q", "t", START, END);
  }

  @Test
  void batchesEndAtTheBounds() {
    assertEquals("{\"t\":{\"0\":10,\"1\":30}}", bounded("{\"t\":{\"0\":10,\"1\":40}}"));
  }

  @Test
  void nothingIsReadBackwards() {
    assertEquals(START, bounded("{\"t\":{\"0\":1,\"1\":2}}"));
  }

  @Test
  void partitionsWithoutABoundAreNotRead() {
    assertEquals("{\"t\":{\"0\":10,\"1\":7}}", bounded("{\"t\":{\"0\":10}}"));
  }

  @Test
  void topicsAndQueriesWithoutBoundsAreReadToTheirEnds() {
    assertEquals(END, bounded("{\"u\":{\"0\":10}}"));
    assertEquals(END, ReadUntil.bounded("another", "t", START, END));
  }
}
