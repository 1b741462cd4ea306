package io.streamsql.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskKilledException;
import org.junit.jupiter.api.Test;
import scala.Product2;

/** Rows from several tasks to one: all of them, in each one's order, and an end only after all. */
class LaneTest {
  private static final int MANY = 1 << 17;
  private final TaskContext task = TaskContext$.MODULE$.empty();

  @Test
  void aReaderGetsTheRowsOfAllWritersInTheOrderOfEach() throws Exception {
    Lane lane = new Lane(2);
    CompletableFuture<Void> first = writing(lane, 0, 10_000);
    CompletableFuture<Void> second = writing(lane, 100_000, 110_000);
    List<Integer> found = rows(lane);
    first.get(10, TimeUnit.SECONDS);
    second.get(10, TimeUnit.SECONDS);
    assertEquals(20_000, found.size());
    assertEquals(sorted(found, 0), found.stream().filter(row -> row < 100_000).toList());
    assertEquals(sorted(found, 100_000), found.stream().filter(row -> row >= 100_000).toList());
  }

  @Test
  void aReaderWaitsForEveryWriter() throws Exception {
    Lane lane = new Lane(2);
    lane.end();
    CompletableFuture<List<Integer>> reading = CompletableFuture.supplyAsync(() -> rows(lane));
    assertFalse(reading.isDone());
    lane.put(7, 1, task);
    lane.end();
    assertEquals(List.of(7), reading.get(10, TimeUnit.SECONDS));
  }

  @Test
  void aWriterWaitsForAReaderThatIsFarBehind() throws Exception {
    Lane lane = new Lane(1);
    CompletableFuture<Integer> writing =
        CompletableFuture.supplyAsync(
            () -> {
              int rows = 0;
              for (; rows < 100; rows++) {
                put(lane, rows, MANY);
              }
              lane.end();
              return rows;
            });
    int most = 0;
    int all = 0;
    ArrayDeque<Object> empty = new ArrayDeque<>();
    for (ArrayDeque<Object> taken = lane.take(empty, task);
        !taken.isEmpty();
        taken = lane.take(new ArrayDeque<>(), task)) {
      most = Math.max(most, taken.size());
      all += taken.size();
    }
    assertEquals(100, writing.get(10, TimeUnit.SECONDS));
    assertEquals(100, all);
    assertTrue(most <= 8, "at most 1 MiB waits, not " + most * MANY);
  }

  @Test
  void anInterruptFailsTheTaskAsAKilledOneWouldBeRunAgain() throws Exception {
    assertEquals(UncheckedIOException.class, thrownWhenInterrupted(task));
    TaskContext killed = TaskContext$.MODULE$.empty();
    ((TaskContextImpl) killed).markInterrupted("stage cancelled");
    assertEquals(TaskKilledException.class, thrownWhenInterrupted(killed));
  }

  private static Class<?> thrownWhenInterrupted(TaskContext task) throws InterruptedException {
    LaneRows<Object, Object> rows = new LaneRows<>(new Lane(1), task);
    List<Throwable> thrown = new ArrayList<>();
    Thread reader =
        new Thread(() -> thrown.add(assertThrows(RuntimeException.class, rows::hasNext)));
    reader.start();
    reader.interrupt();
    reader.join(10_000);
    return thrown.get(0).getClass();
  }

  @Test
  void rowsAreTakenByOneTask() {
    Lane lane = new Lane(1);
    lane.open();
    assertThrows(IllegalStateException.class, lane::open);
  }

  @Test
  void afterTheEndThereIsNothing() {
    Lane lane = new Lane(1);
    lane.end();
    LaneRows<Integer, Integer> rows = new LaneRows<>(lane, task);
    assertFalse(rows.hasNext());
    assertThrows(NoSuchElementException.class, rows::next);
  }

  @Test
  void aReaderWorksFromItsFirstRowUntilItFindsNone() throws Exception {
    Lane lane = new Lane(1);
    lane.put(1, 1, task);
    LaneRows<Integer, Integer> rows = new LaneRows<>(lane, task);
    assertTrue(rows.hasNext());
    assertTrue(lane.workingFor() > 0);
    rows.next();
    lane.end();
    assertFalse(rows.hasNext());
    assertEquals(0, lane.workingFor());
  }

  @Test
  void anExchangeTellsHowLongTheReadersOfARunHaveWorked() throws Exception {
    Exchange exchange = new Exchange(1, 2);
    exchange.readBy("this run");
    exchange.lane(0).put(1, 1, task);
    assertTrue(exchange.workingFor("this run") > 0);
    assertEquals(0, exchange.workingFor("another run"));
  }

  private CompletableFuture<Void> writing(Lane lane, int from, int to) {
    return CompletableFuture.runAsync(
        () -> {
          for (int row = from; row < to; row++) {
            put(lane, row, 100);
          }
          lane.end();
        });
  }

  private void put(Lane lane, int row, int size) {
    try {
      lane.put(row, size, task);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private List<Integer> rows(Lane lane) {
    List<Integer> found = new ArrayList<>();
    LaneRows<Integer, Integer> rows = new LaneRows<>(lane, task);
    while (rows.hasNext()) {
      Product2<Integer, Integer> pair = rows.next();
      found.add(pair._2());
    }
    return found;
  }

  private static List<Integer> sorted(List<Integer> rows, int from) {
    return rows.stream().filter(row -> row >= from && row < from + 100_000).sorted().toList();
  }
}
