package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class TopicTailsTest {
  private static final TopicPartition ORDERS = new TopicPartition("orders", 0);

  @Test
  void severalReadersGetEachRecordOfOneFetch() throws InterruptedException {
    Tail tail = tail(7);
    tail.enter();
    long one = tail.find(7);
    long other = tail.find(8);
    tail.add(records(7, 8, 10));
    assertEquals(List.of(7L, 8L, 10L), taken(tail, one, 3));
    // It had asked for 8 before there was any: who reads skips what lies before.
    assertEquals(List.of(7L, 8L, 10L), taken(tail, other, 3));
    assertNull(tail.take(one + 3, System.nanoTime(), () -> true));
    assertTrue(tail.has(one + 3));
  }

  @Test
  void aReaderBeginsWithinWhatIsHeld() throws InterruptedException {
    Tail tail = tail(7);
    tail.add(records(7, 8, 10));
    assertEquals(List.of(10L), taken(tail, tail.find(9), 1));
    assertTrue(tail.holds(11));
    assertFalse(tail.holds(6));
  }

  @Test
  void whatIsNoRecordIsAGapBehindWhatIsHeld() {
    Tail tail = tail(7);
    tail.takeSeek();
    tail.add(records(7, 8));
    assertArrayEquals(new long[] {9, 9}, tail.gap());
    tail.look(10);
    assertArrayEquals(new long[] {9, 10}, tail.gap());
    tail.add(records(10));
    assertArrayEquals(new long[] {11, 11}, tail.gap());
  }

  @Test
  void aReaderOfOldRecordsIsSentAwayWhereOthersRead() {
    Tail tail = tail(7);
    tail.enter();
    tail.add(records(7));
    assertEquals(-1, tail.find(3));
  }

  @Test
  void aLoneReaderHasTheFetchingMoved() {
    Tail tail = tail(7);
    tail.add(records(7));
    assertTrue(tail.find(3) >= 0);
    tail.add(records(8)); // It was on its way already.
    assertEquals(3, tail.takeSeek());
    assertTrue(tail.holds(3));
    assertFalse(tail.holds(4));
  }

  @Test
  void whatIsHeldIsBounded() throws InterruptedException {
    Tail tail = tail(0);
    final long slow = tail.find(0);
    for (int offset = 0; offset < 3_000; offset++) {
      tail.add(records(offset));
    }
    assertTrue(tail.isFull());
    assertEquals(List.of(0L), taken(tail, slow, 1));
    taken(tail, slow, 3_000);
    assertFalse(tail.isFull());
    for (int offset = 3_000; offset < 6_000; offset++) {
      tail.add(records(offset));
    }
    assertFalse(tail.has(slow));
    assertNull(tail.take(slow, System.nanoTime(), () -> true));
  }

  @Test
  void whoIsToEndItsBatchWaitsNoLonger() throws InterruptedException {
    Tail tail = tail(7);
    long number = tail.find(7);
    assertNull(tail.take(number, soon(), () -> false));
    assertTrue(tail.has(number));
  }

  @Test
  void oneConsumerFetchesForAllUntilTheyHaveLeft() throws InterruptedException {
    List<MockConsumer<byte[], byte[]>> made = new ArrayList<>();
    TopicTails tails =
        new TopicTails(
            Map.of(),
            settings -> {
              MockConsumer<byte[], byte[]> consumer = new MockConsumer<>("none");
              made.add(consumer);
              return consumer;
            });
    Tail one = tails.enter(ORDERS, "one", 5);
    Tail other = tails.enter(ORDERS, "one", 5);
    assertEquals(one, other);
    assertEquals(1, made.size());
    made.get(0).schedulePollTask(() -> made.get(0).addRecord(row(5)));
    long number = one.find(5);
    assertEquals(5, one.take(number, soon(), () -> true).offset());
    assertEquals(5, other.take(other.find(5), soon(), () -> true).offset());
  }

  @Test
  void recordsOfATopicThatWasDeletedAreNotReadInTheNextOneOfItsName() throws InterruptedException {
    MockConsumer<byte[], byte[]> consumer = new MockConsumer<>("none");
    TopicTails tails = new TopicTails(Map.of(), settings -> consumer);
    Tail old = tails.enter(ORDERS, "one", 0);
    consumer.schedulePollTask(() -> consumer.addRecord(row(0)));
    assertNotNull(old.take(old.find(0), soon(), () -> true));
    old.leave();
    Tail next = tails.enter(ORDERS, "two", 0);
    assertTrue(next.holds(0));
    assertFalse(next.holds(1));
    assertFalse(old.holds(0));
    consumer.schedulePollTask(() -> consumer.addRecord(row(0, 7)));
    assertEquals(7, next.take(next.find(0), soon(), () -> true).value().length);
  }

  @Test
  void readersContinueByThemselvesWhereFetchingFails() throws InterruptedException {
    MockConsumer<byte[], byte[]> consumer = new MockConsumer<>("none");
    TopicTails tails = new TopicTails(Map.of(), settings -> consumer);
    Tail tail = tails.enter(ORDERS, "one", 5);
    long number = tail.find(5);
    consumer.schedulePollTask(
        () -> {
          throw new IllegalStateException("played");
        });
    assertNull(tail.take(number, soon(), () -> true));
    assertFalse(tail.has(number));
    assertEquals(-1, tail.find(5));
  }

  @Test
  void recordsAreGatheredOnlyForMany() {
    assertEquals(2, TopicTails.pause(39));
    assertEquals(20, TopicTails.pause(40));
    assertEquals(100, TopicTails.pause(1_000));
  }

  private static Tail tail(long offset) {
    Tail tail = new Tail(ORDERS, "one", offset);
    tail.enter();
    assertEquals(offset, tail.takeSeek());
    return tail;
  }

  private static long soon() {
    return System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
  }

  private static List<ConsumerRecord<byte[], byte[]>> records(long... offsets) {
    List<ConsumerRecord<byte[], byte[]>> rows = new ArrayList<>();
    for (long offset : offsets) {
      rows.add(row(offset));
    }
    return rows;
  }

  private static ConsumerRecord<byte[], byte[]> row(long offset) {
    return row(offset, 10);
  }

  private static ConsumerRecord<byte[], byte[]> row(long offset, int size) {
    return new ConsumerRecord<>("orders", 0, offset, new byte[1], new byte[size]);
  }

  private static List<Long> taken(Tail tail, long from, int count) throws InterruptedException {
    List<Long> offsets = new ArrayList<>();
    for (long number = from; number < from + count; number++) {
      offsets.add(tail.take(number, soon(), () -> true).offset());
    }
    return offsets;
  }
}
