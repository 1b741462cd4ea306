package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryProgress;
import org.apache.spark.sql.streaming.StreamingQueryStatus;
import org.junit.jupiter.api.Test;

/** When a query sleeps: only after a round that read nothing and cannot have missed anything. */
class QueryInputsTest {
  private final FakeEnds ends = new FakeEnds();
  private final QueryInputs inputs = new QueryInputs("q", ends);
  private final QueryInputs.Input orders = inputs.reading("orders", false, false, false);

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
    QueryInputs.Input payments = inputs.reading("payments", false, false, false);
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
    single.reading("bills", true, false, false).begin("{\"bills\":{\"0\":0}}");
    assertEquals(1, ends.slept);
    ends.grow("bills");
    new QueryInputs("t", ends).reading("bills", true, false, false).begin("{\"bills\":{\"0\":0}}");
    assertEquals(1, ends.slept);
    new QueryInputs("u", ends).reading("bills", false, false, false).begin("{\"bills\":{\"0\":1}}");
    assertEquals(1, ends.slept);
  }

  @Test
  void aRoundIsOwedWhereTimeDecidesAndTheOneBeforeMoved() {
    QueryInputs timed = new QueryInputs("v", ends);
    QueryInputs.Input bills = timed.reading("bills", false, false, true);
    QueryInputs.Input calls = timed.reading("calls", false, false, true);
    bills.begin("0");
    assertTrue(isOwed(timed), "the run before may have left something");
    calls.begin("0");
    bills.end("0");
    calls.end("1");
    bills.begin("0");
    assertTrue(isOwed(timed));
    calls.begin("1");
    bills.end("0");
    calls.end("1");
    bills.begin("0");
    assertFalse(isOwed(timed));
    orders.begin("0");
    assertFalse(isOwed(inputs));
  }

  private static boolean isOwed(QueryInputs inputs) {
    return inputs.owed().deadline(0, Long.MAX_VALUE) < Long.MAX_VALUE;
  }

  @Test
  void aSleepingQueryCanBeStopped() {
    quiet(orders);
    Thread.currentThread().interrupt();
    assertThrows(UncheckedIOException.class, () -> orders.begin("5"));
  }

  @Test
  void whatWasToEndWhileItSleptBeginsNoBatchWhenItWakes() throws InterruptedException {
    QueryInputs.Input bills = QueryInputs.of("sleeper", ends).reading("bills", true, false, false);
    ends.wakes = new Semaphore(0);
    String offsets = "{\"bills\":{\"0\":0}}";
    Thread stream =
        new Thread(() -> assertThrows(UncheckedIOException.class, () -> bills.begin(offsets)));
    stream.start();
    while (!QueryInputs.isAsleep("sleeper")) {
      Thread.onSpinWait();
    }
    assertTrue(QueryInputs.finish(running("sleeper"), 10_000));
    ends.wakes.release();
    stream.join(200);
    assertTrue(stream.isAlive(), "its batch does not begin");
    assertFalse(QueryInputs.isAsleep("sleeper"));
    stream.interrupt();
    stream.join();
    bills.close();
  }

  @Test
  void aRunOverExistingRecordsBeginsNoBatchAfterIt() throws InterruptedException {
    QueryInputs.Input input = QueryInputs.of("limited", ends).reading("t", false, false, false);
    AtomicInteger batches = new AtomicInteger();
    Thread stream =
        new Thread(
            () -> {
              while (!Thread.currentThread().isInterrupted()) {
                input.beginLimitedBatch();
                batches.incrementAndGet();
                Thread.onSpinWait();
              }
            });
    stream.setUncaughtExceptionHandler((thread, stopped) -> {});
    stream.start();
    assertTrue(QueryInputs.finish(running("limited"), 10_000));
    int begun = batches.get();
    stream.join(200);
    assertTrue(stream.isAlive());
    assertEquals(begun, batches.get());
    stream.interrupt();
    stream.join();
    input.close();
  }

  @Test
  void ofAQueryThatReadsNothingYetItIsNotKnown() throws InterruptedException {
    assertFalse(QueryInputs.finish(running("unknown"), 10_000));
  }

  @Test
  void aQueryThatWaitsForTheTimeOfItsNextBatchHasFinished() throws InterruptedException {
    QueryInputs.Input input = QueryInputs.of("interval", ends).reading("t", false, false, false);
    assertTrue(QueryInputs.finish(running("interval", progress()), 10_000));
    input.close();
  }

  private static StreamingQueryProgress progress() {
    UUID id = new UUID(0, 0);
    Map<String, Row> metrics = Map.of();
    return new StreamingQueryProgress(
        id, id, "q", "", 7, 0, Map.of(), Map.of(), null, null, null, metrics);
  }

  /** A running Spark query that has reported no batch. */
  private static StreamingQuery running(String name) {
    return running(name, null);
  }

  /** A running Spark query between two batches, of which it has reported the first. */
  private static StreamingQuery running(String name, StreamingQueryProgress progress) {
    return (StreamingQuery)
        Proxy.newProxyInstance(
            QueryInputsTest.class.getClassLoader(),
            new Class<?>[] {StreamingQuery.class},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "name" -> name;
                  case "isActive" -> true;
                  case "lastProgress" -> progress;
                  case "status" -> new StreamingQueryStatus("", false, false);
                  default -> throw new AssertionError(method.getName());
                });
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
    private Semaphore wakes = new Semaphore(1_000_000);
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
      wakes.acquire(); // Notices an interruption.
      slept++;
    }
  }
}
