package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collection;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

/** Rows of streams wait for what the tables of their query have, and for nothing else. */
class TablesFirstTest {
  private static final TopicPartition USERS = new TopicPartition("users", 0);

  private final QueryInputs inputs = new QueryInputs("q", new NoEnds());
  private final TablesFirst tables = inputs.tablesFirst();

  @Test
  void withoutTablesNothingIsWaitedFor() throws InterruptedException {
    inputs.reading("orders", false, false);
    assertTrue(isOpen());
  }

  @Test
  void streamsWaitUntilEachTableHasBeenRead() throws InterruptedException {
    QueryInputs.Input users = inputs.reading("users", false, true);
    QueryInputs.Input again = inputs.reading("users", false, true);
    users.beginTable("{\"users\":{\"0\":3}}", "{\"users\":{\"0\":7}}");
    again.beginTable("{\"users\":{\"0\":0}}", "{\"users\":{\"0\":7}}");
    assertEquals(7, tables.wanted(users.number, USERS));
    tables.hasRead(users.number, USERS);
    assertFalse(isOpen(), "the same table is read once more");
    tables.hasRead(again.number, USERS);
    assertTrue(isOpen());
    assertEquals(0, tables.wanted(users.number, USERS));
  }

  @Test
  void aTableThatIsReadAlreadyIsNotWaitedFor() throws InterruptedException {
    QueryInputs.Input users = inputs.reading("users", false, true);
    users.beginTable("{\"users\":{\"0\":7}}", "{\"users\":{\"0\":7}}");
    assertTrue(isOpen());
  }

  @Test
  void onlyStreamsWait() {
    QueryInputs.Input users = inputs.reading("users", false, true);
    assertFalse(users.isWaitedFor());
    QueryInputs.Input orders = inputs.reading("orders", false, false);
    assertTrue(users.isWaitedFor());
    assertFalse(orders.isWaitedFor());
  }

  @Test
  void theNextBatchBeginsAnew() throws InterruptedException {
    QueryInputs.Input users = inputs.reading("users", false, true);
    users.beginTable("{\"users\":{\"0\":0}}", "{\"users\":{\"0\":7}}");
    users.beginTable("{\"users\":{\"0\":7}}", "{\"users\":{\"0\":7}}");
    assertTrue(isOpen());
  }

  @Test
  void whoIsToEndItsBatchWaitsNoLonger() throws InterruptedException {
    QueryInputs.Input users = inputs.reading("users", false, true);
    users.beginTable("{\"users\":{\"0\":0}}", "{\"users\":{\"0\":7}}");
    long hour = System.nanoTime() + TimeUnit.HOURS.toNanos(1);
    assertFalse(tables.await(hour, () -> false));
  }

  private boolean isOpen() throws InterruptedException {
    return tables.await(System.nanoTime(), () -> true);
  }

  private static final class NoEnds implements Ends {
    @Override
    public Map<String, Map<Integer, Long>> now(Collection<String> topics) {
      return Map.of();
    }

    @Override
    public void awaitOthers(Map<String, Map<Integer, Long>> known) {}
  }
}
