package io.streamsql.source;

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

  private final Tail tail = new Tail(USERS, "id", 3);

  @Test
  void withoutTablesNothingIsWaitedFor() throws InterruptedException {
    inputs.reading("orders", false, false);
    assertTrue(tables.isEmpty());
    assertTrue(isOver(tables.await()));
  }

  @Test
  void streamsWaitUntilEachTableHasBeenReadToItsEnd() throws InterruptedException {
    TableProgress one = reading(7);
    TableProgress other = reading(7);
    TablesFirst.Wait wait = tables.await();
    one.hasPassedOn(7, 4);
    assertFalse(isOver(wait), "the same table is read once more");
    other.hasPassedOn(6, 3);
    assertFalse(isOver(wait));
    other.hasPassedOn(7, 4);
    assertTrue(isOver(wait));
  }

  @Test
  void whatComesLaterIsNotWaitedFor() throws InterruptedException {
    TableProgress users = reading(7);
    users.hasPassedOn(7, 4);
    TablesFirst.Wait wait = tables.await();
    tail.know(9);
    assertTrue(isOver(wait));
    assertFalse(isOver(tables.await()));
  }

  @Test
  void aTableOfWhichNothingIsKnownYetIsWaitedFor() throws InterruptedException {
    QueryInputs.Input input = inputs.reading("users", false, true);
    input.beginTable("{\"users\":{\"0\":3}}");
    TablesFirst.Wait wait = tables.await();
    assertFalse(isOver(wait), "its reader has not begun");
    TableProgress users = tables.of(input.number, USERS);
    users.readsOf(tail);
    assertFalse(isOver(wait), "Kafka has not said where it ends");
    tail.know(3);
    assertTrue(isOver(wait));
  }

  @Test
  void theEndOfATransactionIsNoRecord() throws InterruptedException {
    TableProgress users = reading(4);
    TablesFirst.Wait wait = tables.await();
    users.hasPassedOn(3, tail.find(tail.takeSeek()));
    assertFalse(isOver(wait));
    tail.look(4);
    assertTrue(isOver(wait));
  }

  @Test
  void aTableThatIsFetchedNoLongerIsNotWaitedFor() throws InterruptedException {
    reading(7);
    tail.breakOff();
    assertTrue(isOver(tables.await()));
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
  void whoIsToEndItsBatchWaitsNoLonger() throws InterruptedException {
    reading(7);
    long hour = System.nanoTime() + TimeUnit.HOURS.toNanos(1);
    assertFalse(tables.await().isOver(hour, () -> false));
  }

  /** The progress of one more input that reads the table, of which Kafka says where it ends. */
  private TableProgress reading(long end) {
    QueryInputs.Input input = inputs.reading("users", false, true);
    input.beginTable("{\"users\":{\"0\":3}}");
    TableProgress users = tables.of(input.number, USERS);
    users.readsOf(tail);
    tail.know(end);
    return users;
  }

  private static boolean isOver(TablesFirst.Wait wait) throws InterruptedException {
    return wait.isOver(System.nanoTime(), () -> true);
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
