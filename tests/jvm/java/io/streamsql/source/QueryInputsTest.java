package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.runs.QueryRun;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
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
  private final QueryInputs inputs = new QueryInputs(ends, null, new Clock(), null);
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
    QueryInputs single = new QueryInputs(ends, null, new Clock(), null);
    single.reading("bills", true, false, false).begin("{\"bills\":{\"0\":0}}");
    assertEquals(1, ends.slept);
    ends.grow("bills");
    new QueryInputs(ends, null, new Clock(), null)
        .reading("bills", true, false, false)
        .begin("{\"bills\":{\"0\":0}}");
    assertEquals(1, ends.slept);
    new QueryInputs(ends, null, new Clock(), null)
        .reading("bills", false, false, false)
        .begin("{\"bills\":{\"0\":1}}");
    assertEquals(1, ends.slept);
  }

  @Test
  void aRoundIsOwedWhereTimeDecidesAndTheOneBeforeMoved() {
    QueryInputs timed = new QueryInputs(ends, null, new Clock(), null);
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
    String run = UUID.randomUUID().toString();
    QueryInputs.Input bills = inputsOf(run, "sleeper").reading("bills", true, false, false);
    ends.wakes = new Semaphore(0);
    Thread stream = begin(bills);
    while (!QueryInputs.asleep().contains("sleeper")) {
      Thread.onSpinWait();
    }
    assertTrue(QueryInputs.finish(running(run), 10_000));
    ends.wakes.release();
    stream.join(200);
    assertTrue(stream.isAlive(), "its batch does not begin");
    assertFalse(QueryInputs.asleep().contains("sleeper"));
    stream.interrupt();
    stream.join();
    QueryRun.close(run);
  }

  /** The next run of a query may begin before the one that is being stopped has ended. */
  @Test
  void twoRunsOfAQueryShareNothing() throws InterruptedException {
    String first = UUID.randomUUID().toString();
    String second = UUID.randomUUID().toString();
    QueryInputs.Input old = inputsOf(first, "twice").reading("bills", true, false, false);
    ends.wakes = new Semaphore(0);
    Thread stream = begin(old);
    while (!QueryInputs.asleep().contains("twice")) {
      Thread.onSpinWait();
    }
    assertTrue(QueryInputs.finish(running(first), 10_000));
    QueryInputs next = inputsOf(second, "twice");
    assertFalse(next.isFinishing());
    next.reading("bills", true, false, false);
    ends.wakes.release();
    stream.join(200);
    assertTrue(stream.isAlive(), "the first run begins no batch, though the second has begun");
    QueryRun.close(first);
    assertTrue(QueryRun.find(second) != null && QueryRun.find(first) == null);
    QueryRun.closeAll("twice");
    assertTrue(QueryRun.find(second) == null);
    stream.interrupt();
    stream.join();
  }

  @Test
  void theStepsOfARunEndWithIt() {
    List<String> closed = new ArrayList<>();
    String run = UUID.randomUUID().toString();
    ReadUntil.inSteps("stepped", new TimeSteps(new NoTimes(closed), Map.of(), Map.of(), 1));
    inputsOf(run, "stepped");
    assertNull(ReadUntil.takeSteps("stepped"));
    assertEquals(List.of(), closed);
    QueryRun.close(run);
    assertEquals(List.of("closed"), closed);
  }

  private QueryInputs inputsOf(String run, String query) {
    return QueryInputs.of(QueryRun.open(run, query), ends, null);
  }

  private static Thread begin(QueryInputs.Input bills) {
    String offsets = "{\"bills\":{\"0\":0}}";
    Thread stream =
        new Thread(() -> assertThrows(UncheckedIOException.class, () -> bills.begin(offsets)));
    stream.start();
    return stream;
  }

  @Test
  void aRunOverExistingRecordsBeginsNoBatchAfterIt() throws InterruptedException {
    String run = UUID.randomUUID().toString();
    QueryInputs.Input input = inputsOf(run, "limited").reading("t", false, false, false);
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
    assertTrue(QueryInputs.finish(running(run), 10_000));
    int begun = batches.get();
    stream.join(200);
    assertTrue(stream.isAlive());
    assertEquals(begun, batches.get());
    stream.interrupt();
    stream.join();
    QueryRun.close(run);
  }

  @Test
  void ofAQueryThatReadsNothingYetItIsNotKnown() throws InterruptedException {
    assertFalse(QueryInputs.finish(running(UUID.randomUUID().toString()), 10_000));
  }

  @Test
  void aQueryThatWaitsForTheTimeOfItsNextBatchHasFinished() throws InterruptedException {
    String run = UUID.randomUUID().toString();
    inputsOf(run, "interval").reading("t", false, false, false);
    assertTrue(QueryInputs.finish(running(run, progress()), 10_000));
    QueryRun.close(run);
  }

  private static StreamingQueryProgress progress() {
    UUID id = new UUID(0, 0);
    Map<String, Row> metrics = Map.of();
    return new StreamingQueryProgress(
        id, id, "q", "", 7, 0, Map.of(), Map.of(), null, null, null, metrics);
  }

  /** A running Spark query that has reported no batch. */
  private static StreamingQuery running(String run) {
    return running(run, null);
  }

  /** A running Spark query between two batches, of which it has reported the first. */
  private static StreamingQuery running(String run, StreamingQueryProgress progress) {
    return (StreamingQuery)
        Proxy.newProxyInstance(
            QueryInputsTest.class.getClassLoader(),
            new Class<?>[] {StreamingQuery.class},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "runId" -> UUID.fromString(run);
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

  /** Of steps that are never asked for. */
  private record NoTimes(List<String> closed) implements TimeSteps.Times {
    @Override
    public List<RecordTimes.Timed> from(TopicPartition partition, long offset, long end) {
      throw new AssertionError("no batch begins");
    }

    @Override
    public void close() {
      closed.add("closed");
    }
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
    public void awaitOthers(Map<String, Map<Integer, Long>> known, long millis)
        throws InterruptedException {
      wakes.acquire(); // Notices an interruption.
      slept++;
    }
  }
}
