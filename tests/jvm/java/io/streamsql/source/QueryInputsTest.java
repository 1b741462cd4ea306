package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

/** When a query sleeps: only after a round that read nothing and cannot have missed anything. */
class QueryInputsTest {
  private final FakeEnds ends = new FakeEnds();
  private final QueryInputs inputs = new QueryInputs("q", ends);
  private final QueryInputs.Input orders = inputs.reading("orders", false, false);

  @Test
  void aQuerySleepsAfterTwoRoundsWithoutNews() {
    round(orders, "0", "5");
    round(orders, "5", "5");
    assertEquals(0, ends.slept);
    round(orders, "5", "5");
    assertEquals(0, ends.slept, "the ends before the last round are not known");
    round(orders, "5", "5");
    assertEquals(1, ends.slept);
  }

  @Test
  void aRecordThatCameWhileNothingWasReadIsNotSleptOver() {
    quiet(orders);
    ends.grow("orders");
    round(orders, "5", "6");
    assertEquals(0, ends.slept);
    round(orders, "6", "6");
    assertEquals(0, ends.slept);
  }

  @Test
  void aMarkerThatIsNeverReadDoesNotKeepItAwake() {
    ends.grow("orders"); // The topic ends beyond the offset that is read.
    quiet(orders);
    round(orders, "5", "5");
    assertEquals(1, ends.slept);
  }

  @Test
  void twoQuestionsOfOneRoundAreOneRound() {
    quiet(orders);
    orders.begin("5");
    assertEquals(1, ends.slept);
    orders.begin("5");
    assertEquals(1, ends.slept);
  }

  @Test
  void anInputThatMovesKeepsTheOthersAwake() {
    QueryInputs.Input payments = inputs.reading("payments", false, false);
    for (int i = 0; i < 5; i++) {
      round(orders, "5", "5");
      round(payments, Integer.toString(i), Integer.toString(i + 1));
    }
    assertEquals(0, ends.slept);
    for (int i = 0; i < 3; i++) {
      round(orders, "5", "5");
      round(payments, "5", "5");
    }
    assertTrue(ends.slept > 0);
    int before = ends.slept;
    payments.close();
    quiet(orders);
    assertEquals(before + 1, ends.slept, "an input that was closed counts no more");
  }

  @Test
  void whatTimeDoesNotMoveBeginsAsleepAtTheEndOfItsTopic() {
    QueryInputs single = new QueryInputs("s", ends);
    single.reading("bills", true, false).begin("{\"bills\":{\"0\":0}}");
    assertEquals(1, ends.slept);
    ends.grow("bills");
    new QueryInputs("t", ends).reading("bills", true, false).begin("{\"bills\":{\"0\":0}}");
    assertEquals(1, ends.slept);
    new QueryInputs("u", ends).reading("bills", false, false).begin("{\"bills\":{\"0\":1}}");
    assertEquals(1, ends.slept);
  }

  @Test
  void aSleepingQueryCanBeStopped() {
    quiet(orders);
    Thread.currentThread().interrupt();
    assertThrows(UncheckedIOException.class, () -> orders.begin("5"));
  }

  private static void quiet(QueryInputs.Input input) {
    round(input, "5", "5");
    round(input, "5", "5");
  }

  private static void round(QueryInputs.Input input, String start, String end) {
    input.begin(start);
    input.end(end);
  }

  /** Counts who sleeps, and wakes them at once. */
  private static final class FakeEnds implements Ends {
    private final Map<String, Long> offsets = new HashMap<>();
    private int slept;

    void grow(String topic) {
      offsets.merge(topic, 1L, Long::sum);
    }

    @Override
    public Map<String, Map<Integer, Long>> now(Collection<String> topics) {
      Map<String, Map<Integer, Long>> found = new HashMap<>();
      topics.forEach(topic -> found.put(topic, Map.of(0, offsets.getOrDefault(topic, 0L))));
      return found;
    }

    @Override
    public CompletableFuture<Map<TopicPartition, Long>> readable(Set<TopicPartition> partitions) {
      throw new AssertionError("no stream waits");
    }

    @Override
    public void awaitOthers(Map<String, Map<Integer, Long>> known) throws InterruptedException {
      new Semaphore(1).acquire(); // Notices an interruption.
      slept++;
    }
  }
}
