package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

/** Rows of streams wait for what the tables of their query have, and for nothing else. */
class TablesFirstTest {
  private static final TopicPartition USERS = new TopicPartition("users", 0);

  /** What Kafka is asked, each with the answer that it has yet to give. */
  private final List<CompletableFuture<Map<TopicPartition, Long>>> asked = new ArrayList<>();

  private final QueryInputs inputs = new QueryInputs(new AskedEnds(), null, new Clock(), null);
  private final TablesFirst tables = inputs.tablesFirst();
  private final Tail tail = new Tail(USERS, "id", 3);

  @Test
  void streamsWaitUntilEachTableHasBeenReadToItsEnd() throws InterruptedException {
    TableProgress one = reading();
    TableProgress other = reading();
    TablesFirst.Wait wait = tables.await();
    one.hasPassedOn(7, 4);
    other.hasPassedOn(7, 4);
    assertFalse(isOver(wait), "Kafka has not said yet where it ends");
    answer(8);
    assertFalse(isOver(wait));
    one.hasPassedOn(8, 5);
    assertFalse(isOver(wait), "the same table is read once more");
    other.hasPassedOn(8, 5);
    assertTrue(isOver(wait));
  }

  @Test
  void whatComesLaterIsNotWaitedFor() throws InterruptedException {
    reading().hasPassedOn(7, 4);
    TablesFirst.Wait wait = tables.await();
    answer(7);
    TablesFirst.Wait later = tables.await();
    answer(9);
    assertTrue(isOver(wait));
    assertFalse(isOver(later));
  }

  @Test
  void thoseWhoComeWhileKafkaIsAskedShareTheNextQuestion() throws InterruptedException {
    reading().hasPassedOn(8, 5);
    TablesFirst.Wait first = tables.await();
    TablesFirst.Wait second = tables.await();
    TablesFirst.Wait third = tables.await();
    assertEquals(1, asked.size());
    answer(8);
    assertEquals(2, asked.size());
    assertTrue(isOver(first));
    assertFalse(isOver(second), "the answer may be older than its rows");
    answer(9);
    assertEquals(2, asked.size());
    assertFalse(isOver(second));
    assertFalse(isOver(third));
  }

  @Test
  void theEndOfATransactionIsNoRecord() throws InterruptedException {
    TableProgress users = reading();
    TablesFirst.Wait wait = tables.await();
    answer(4);
    users.hasPassedOn(3, tail.find(tail.takeSeek()));
    assertFalse(isOver(wait));
    tail.look(4);
    assertTrue(isOver(wait));
  }

  @Test
  void aTableThatIsNotThereIsNotWaitedFor() throws InterruptedException {
    reading();
    TablesFirst.Wait wait = tables.await();
    asked.get(0).complete(Map.of());
    assertTrue(isOver(wait));
  }

  @Test
  void kafkaIsAskedAgainWhereItDoesNotAnswer() throws InterruptedException {
    TableProgress users = reading();
    TablesFirst.Wait wait = tables.await();
    asked.get(0).completeExceptionally(new TimeoutException("no answer"));
    assertFalse(wait.isOver(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(50), () -> true));
    assertEquals(2, asked.size());
    answer(8);
    assertFalse(isOver(wait));
    users.hasPassedOn(8, 5);
    assertTrue(isOver(wait));
  }

  @Test
  void onlyStreamsWait() {
    QueryInputs.Input users = inputs.reading("users", false, true, false);
    assertFalse(users.isWaitedFor());
    QueryInputs.Input orders = inputs.reading("orders", false, false, false);
    assertTrue(users.isWaitedFor());
    assertFalse(orders.isWaitedFor());
  }

  @Test
  void whoIsToEndItsBatchWaitsNoLonger() throws InterruptedException {
    reading();
    long hour = System.nanoTime() + TimeUnit.HOURS.toNanos(1);
    assertFalse(tables.await().isOver(hour, () -> false));
  }

  /** The progress of one more input that reads the table, from offset 3 on. */
  private TableProgress reading() {
    QueryInputs.Input input = inputs.reading("users", false, true, false);
    input.beginTable("{\"users\":{\"0\":3}}");
    TableProgress users = tables.of(input.number, USERS);
    users.readsOf(tail);
    return users;
  }

  /** Kafka answers what it was asked last. */
  private void answer(long end) {
    asked.get(asked.size() - 1).complete(Map.of(USERS, end));
  }

  private static boolean isOver(TablesFirst.Wait wait) throws InterruptedException {
    return wait.isOver(System.nanoTime(), () -> true);
  }

  private final class AskedEnds implements Ends {
    @Override
    public Map<String, Map<Integer, Long>> now(Collection<String> topics) {
      return Map.of();
    }

    @Override
    public CompletableFuture<Map<TopicPartition, Long>> readable(Set<TopicPartition> partitions) {
      assertEquals(Set.of(USERS), partitions);
      asked.add(new CompletableFuture<>());
      return asked.get(asked.size() - 1);
    }

    @Override
    public void awaitOthers(Map<String, Map<Integer, Long>> known, long millis) {}
  }
}
