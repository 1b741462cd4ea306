package io.streamsql.serving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.epochs.EpochMarks;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class TableFollowerTest {
  private static final TopicPartition PARTITION = new TopicPartition("t", 0);
  private static final Node NOBODY = Node.noNode();

  @TempDir private Path folder;
  private TableStore store;
  private final Topic topic = new Topic();
  private TableFollower follower;

  /** A topic of one partition, as Kafka's own mock reads it. */
  private static final class Topic {
    private final List<ConsumerRecord<byte[], byte[]>> log = new CopyOnWriteArrayList<>();
    private final AtomicInteger opened = new AtomicInteger();
    private final AtomicInteger delivered = new AtomicInteger();
    private volatile String identity = "cluster/t/1";
    private volatile long first;
    private volatile KafkaException broken;

    void append(String key, String value) {
      byte[] bytes = value == null ? null : KafkaLog.bytes(value);
      log.add(new ConsumerRecord<>("t", 0, end(), KafkaLog.bytes(key), bytes));
    }

    long end() {
      return first + log.size();
    }

    FollowedTopic open() {
      opened.incrementAndGet();
      if (broken != null) {
        throw broken;
      }
      Consumer<byte[], byte[]> consumer = new KafkaLog(this);
      return new FollowedTopic() {
        @Override
        public String identity() {
          return identity;
        }

        @Override
        public Consumer<byte[], byte[]> consumer() {
          return consumer;
        }

        @Override
        public void close() {
          consumer.close();
        }
      };
    }
  }

  private static final class KafkaLog extends MockConsumer<byte[], byte[]> {
    private final Topic topic;
    private long added;

    KafkaLog(Topic topic) {
      super("none");
      this.topic = topic;
      updatePartitions("t", List.of(new PartitionInfo("t", 0, NOBODY, new Node[0], new Node[0])));
      bound();
    }

    static byte[] bytes(String text) {
      return KeyLookupsTest.bytes(text);
    }

    private void bound() {
      updateBeginningOffsets(Map.of(PARTITION, topic.first));
      updateEndOffsets(Map.of(PARTITION, topic.end()));
    }

    @Override
    public synchronized void seek(TopicPartition partition, long offset) {
      added = offset;
      super.seek(partition, offset);
    }

    @Override
    public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
      LockSupport.parkNanos(1_000_000);
      bound();
      for (; added < topic.end(); added++) {
        addRecord(topic.log.get((int) (added - topic.first)));
        topic.delivered.incrementAndGet();
      }
      return super.poll(timeout);
    }
  }

  @BeforeEach
  void open() throws Exception {
    store = new TableStore(folder, -1, 0);
  }

  @AfterEach
  void close() {
    if (follower != null) {
      follower.close();
    }
    store.close();
  }

  private void follow() {
    follow(null);
  }

  private void follow(EpochMarks marks) {
    follower = new TableFollower(store, "t", topic::open, List.of(), marks);
    follower.start();
  }

  private static void until(BooleanSupplier condition) {
    long deadline = System.nanoTime() + 20_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, "it did not come to pass");
      LockSupport.parkNanos(1_000_000);
    }
  }

  private List<String> rows(String... keys) throws Exception {
    List<String> found = new ArrayList<>();
    for (String key : keys) {
      byte[] packed = KeyLookupsTest.asked(0, 0, key);
      List<String> values =
          KeyLookupsTest.results(KeyLookupsTest.lookups(store, true, 0).get(packed));
      found.add(values.isEmpty() ? null : values.get(0));
    }
    return found;
  }

  @Test
  void aTopicIsReadToItsEndAndOn() throws Exception {
    topic.append("a", "1");
    topic.append("b", "2");
    topic.append("a", "3");
    follow();
    assertTrue(follower.awaitComplete(20_000));
    assertTrue(follower.complete());
    assertEquals(Map.of(0, 3L), follower.positions());
    assertEquals(List.of("3", "2"), rows("a", "b"));
    assertFalse(follower.await(Map.of(0, 4L), 20), "there is no fourth record yet");
    topic.append("b", null);
    assertTrue(follower.await(Map.of(0, 4L), 20_000));
    assertEquals("3", rows("a", "b").get(0));
    assertNull(rows("b").get(0));
    until(() -> follower.lag() == 0);
    assertNull(follower.failure());
    assertEquals(1, topic.opened.get());
  }

  @Test
  void anEmptyTopicIsCompleteAtOnce() throws Exception {
    follow();
    assertTrue(follower.awaitComplete(20_000));
    assertEquals(Map.of(0, 0L), follower.positions());
    assertFalse(follower.await(Map.of(1, 1L), 10), "of a partition that is not there");
  }

  @Test
  void itContinuesWhereTheStoreIs() throws Exception {
    topic.append("a", "1");
    follow();
    assertTrue(follower.awaitComplete(20_000));
    follower.close();
    topic.append("b", "2");
    int before = topic.delivered.get();
    follow();
    assertTrue(follower.await(Map.of(0, 2L), 20_000));
    assertEquals(before + 1, topic.delivered.get());
    assertEquals(List.of("1", "2"), rows("a", "b"));
  }

  @Test
  void aTopicOfTheSameNameIsAnother() throws Exception {
    topic.append("a", "1");
    follow();
    assertTrue(follower.awaitComplete(20_000));
    follower.close();
    topic.log.clear();
    topic.identity = "cluster/t/2";
    topic.append("b", "2");
    topic.append("c", "3");
    follow();
    assertTrue(follower.await(Map.of(0, 2L), 20_000));
    assertNull(rows("a").get(0));
    assertEquals(List.of("2", "3"), rows("b", "c"));
  }

  @Test
  void aRunningReadDelaysTheStartOverAndBlocksNoOtherReader() throws Exception {
    topic.append("a", "1");
    follow();
    assertTrue(follower.awaitComplete(20_000));
    follower.close();
    topic.log.clear();
    topic.identity = "cluster/t/2";
    topic.append("b", "2");
    TableStore.Reading reading = store.read();
    follow();
    long before = System.nanoTime();
    assertFalse(follower.awaitComplete(100));
    assertEquals(Map.of(), follower.positions());
    assertTrue(System.nanoTime() - before < 1_500_000_000L, "it waited for who reads");
    until(() -> follower.failure() != null);
    assertEquals("the store restarts once it has no readers", follower.failure());
    assertFalse(follower.complete());
    reading.close();
    assertTrue(follower.awaitComplete(20_000));
    assertNull(rows("a").get(0));
    assertEquals(List.of("2"), rows("b"));
    until(() -> follower.failure() == null);
  }

  @Test
  void aStoreThatIsAheadOfItsTopicStartsOver() throws Exception {
    topic.append("a", "1");
    topic.append("b", "2");
    follow();
    assertTrue(follower.awaitComplete(20_000));
    follower.close();
    topic.log.clear();
    topic.append("c", "3");
    follow();
    assertTrue(follower.awaitComplete(20_000));
    assertEquals(Map.of(0, 1L), follower.positions());
    assertNull(rows("a").get(0));
    assertEquals("3", rows("c").get(0));
  }

  @Test
  void recordsThatAreGoneAreSkipped() throws Exception {
    topic.append("a", "1");
    follow();
    assertTrue(follower.awaitComplete(20_000));
    follower.close();
    topic.first = 10;
    topic.log.clear();
    topic.append("b", "2");
    follow();
    assertTrue(follower.await(Map.of(0, 11L), 20_000));
    assertEquals(List.of("1", "2"), rows("a", "b"));
  }

  @Test
  void aFailureIsReportedAndTriedAgain() throws Exception {
    topic.append("a", "1");
    topic.broken = new KafkaException("no broker");
    follow();
    until(() -> follower.failure() != null);
    assertEquals("no broker", follower.failure());
    assertFalse(follower.awaitComplete(1));
    assertEquals(-1, follower.lag());
    topic.broken = null;
    assertTrue(follower.awaitComplete(20_000));
    until(() -> follower.failure() == null);
    assertEquals(List.of("1"), rows("a"));
  }

  @Test
  void theRecordsOfAnEpochAppearTogether() throws Exception {
    EpochMarks marks = new EpochMarks();
    marks.completed();
    marks.add("t", new EpochMarks.Mark(1, 1, Map.of(0, 1L)));
    topic.append("a", "1");
    topic.append("b", "2");
    follow(marks);
    assertTrue(follower.awaitComplete(20_000));
    assertEquals(Map.of(0, 1L), follower.positions());
    assertNull(rows("b").get(0));
    topic.append("a", "3");
    topic.append("c", "4");
    marks.add("t", new EpochMarks.Mark(2, 2, Map.of(0, 3L)));
    assertTrue(follower.await(Map.of(0, 3L), 20_000));
    assertEquals(Map.of(0, 3L), follower.positions());
    assertEquals(Arrays.asList("3", "2", null), rows("a", "b", "c"));
  }

  @Test
  void theRowsOfPastEpochsAreKept() throws Exception {
    store.close();
    store = new TableStore(folder, -1, 600_000);
    EpochMarks marks = new EpochMarks();
    marks.completed();
    topic.append("a", "1");
    follow(marks);
    assertTrue(follower.await(Map.of(0, 1L), 20_000), "without marks records appear at once");
    marks.add("t", new EpochMarks.Mark(1, 1, Map.of(0, 1L)));
    until(() -> store.epoch() == 1);
    topic.append("a", "2");
    marks.add("t", new EpochMarks.Mark(2, 2, Map.of(0, 2L)));
    marks.add("t", new EpochMarks.Mark(3, 3, Map.of(0, 2L)));
    until(() -> store.epoch() == 3);
    for (long epoch = 1; epoch <= 3; epoch++) {
      assertEquals(epoch, store.moments().began(epoch));
    }
    try (TableStore.Reading first = store.read(1);
        TableStore.Reading third = store.read(3)) {
      byte[] key = "a".getBytes(StandardCharsets.UTF_8);
      assertFalse(Arrays.equals(first.get(key), third.get(key)));
      topic.identity = "cluster/t/2";
      assertNull(store.read(4));
    }
  }

  @Test
  void aTopicWithoutEpochsMayHaveTheNameOfOneThatHadSome() throws Exception {
    EpochMarks marks = new EpochMarks();
    marks.completed();
    marks.add("t", new EpochMarks.Mark(7, 7, Map.of(0, 100L)));
    topic.append("a", "1");
    follow(marks);
    until(() -> topic.log.size() == 1 && follower.positions().equals(Map.of(0, 0L)));
    marks.forget("t");
    assertTrue(follower.await(Map.of(0, 1L), 20_000));
    assertEquals("1", rows("a").get(0));
  }

  @Test
  void aTopicOfTheSameNameHasEpochsOfItsOwn() throws Exception {
    EpochMarks marks = new EpochMarks();
    marks.completed();
    marks.add("t", new EpochMarks.Mark(7, 7, Map.of(0, 100L)));
    topic.append("a", "1");
    follow(marks);
    marks.add("t", new EpochMarks.Mark(8, 8, Map.of(0, 1L)));
    assertTrue(follower.await(Map.of(0, 1L), 20_000));
    assertEquals("1", rows("a").get(0));
  }

  @Test
  void waitersAreNotifiedOfTheEnd() throws Exception {
    follow();
    assertTrue(follower.awaitComplete(20_000));
    Thread ending = new Thread(follower::stop);
    ending.start();
    long before = System.nanoTime();
    assertFalse(follower.await(Map.of(0, 1L), 20_000));
    assertTrue(System.nanoTime() - before < 15_000_000_000L);
    ending.join();
  }
}
