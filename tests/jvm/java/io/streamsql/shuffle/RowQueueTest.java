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
class RowQueueTest {
  private static final int MANY = 1 << 17;
  private final TaskContext task = TaskContext$.MODULE$.empty();

  @Test
  void aReaderGetsTheRowsOfAllWritersInTheOrderOfEach() throws Exception {
    RowQueue queue = new RowQueue(2);
    CompletableFuture<Void> first = writing(queue, 0, 10_000);
    CompletableFuture<Void> second = writing(queue, 100_000, 110_000);
    List<Integer> found = rows(queue);
    first.get(10, TimeUnit.SECONDS);
    second.get(10, TimeUnit.SECONDS);
    assertEquals(20_000, found.size());
    assertEquals(sorted(found, 0), found.stream().filter(row -> row < 100_000).toList());
    assertEquals(sorted(found, 100_000), found.stream().filter(row -> row >= 100_000).toList());
  }

  @Test
  void aReaderWaitsForEveryWriter() throws Exception {
    RowQueue queue = new RowQueue(2);
    queue.end();
    CompletableFuture<List<Integer>> reading = CompletableFuture.supplyAsync(() -> rows(queue));
    assertFalse(reading.isDone());
    queue.put(7, 1, task);
    queue.end();
    assertEquals(List.of(7), reading.get(10, TimeUnit.SECONDS));
  }

  @Test
  void aWriterWaitsForAReaderThatIsFarBehind() throws Exception {
    RowQueue queue = new RowQueue(1);
    CompletableFuture<Integer> writing =
        CompletableFuture.supplyAsync(
            () -> {
              int rows = 0;
              for (; rows < 100; rows++) {
                put(queue, rows, MANY);
              }
              queue.end();
              return rows;
            });
    int most = 0;
    int all = 0;
    ArrayDeque<Object> empty = new ArrayDeque<>();
    for (ArrayDeque<Object> taken = queue.take(empty, task);
        !taken.isEmpty();
        taken = queue.take(new ArrayDeque<>(), task)) {
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
    QueuedRows<Object, Object> rows = new QueuedRows<>(new RowQueue(1), task);
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
    RowQueue queue = new RowQueue(1);
    queue.open();
    assertThrows(IllegalStateException.class, queue::open);
  }

  @Test
  void afterTheEndThereIsNothing() {
    RowQueue queue = new RowQueue(1);
    queue.end();
    QueuedRows<Integer, Integer> rows = new QueuedRows<>(queue, task);
    assertFalse(rows.hasNext());
    assertThrows(NoSuchElementException.class, rows::next);
  }

  @Test
  void aReaderWorksFromItsFirstRowUntilItFindsNone() throws Exception {
    RowQueue queue = new RowQueue(1);
    queue.put(1, 1, task);
    QueuedRows<Integer, Integer> rows = new QueuedRows<>(queue, task);
    assertTrue(rows.hasNext());
    assertTrue(queue.workingFor() > 0);
    rows.next();
    queue.end();
    assertFalse(rows.hasNext());
    assertEquals(0, queue.workingFor());
  }

  @Test
  void anExchangeTellsHowLongTheReadersOfARunHaveWorked() throws Exception {
    Exchange exchange = new Exchange(1, 2);
    exchange.readBy("this run");
    exchange.queue(0).put(1, 1, task);
    assertTrue(exchange.workingFor("this run") > 0);
    assertEquals(0, exchange.workingFor("another run"));
  }

  private CompletableFuture<Void> writing(RowQueue queue, int from, int to) {
    return CompletableFuture.runAsync(
        () -> {
          for (int row = from; row < to; row++) {
            put(queue, row, 100);
          }
          queue.end();
        });
  }

  private void put(RowQueue queue, int row, int size) {
    try {
      queue.put(row, size, task);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private List<Integer> rows(RowQueue queue) {
    List<Integer> found = new ArrayList<>();
    QueuedRows<Integer, Integer> rows = new QueuedRows<>(queue, task);
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
