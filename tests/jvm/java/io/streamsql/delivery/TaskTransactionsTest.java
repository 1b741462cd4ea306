package io.streamsql.delivery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is committed in time, and what must not be. */
class TaskTransactionsTest {
  private static final int INTERVAL_MILLIS = 50;
  private static final Delivery DELIVERY =
      new Delivery("Q", "tokens", INTERVAL_MILLIS, Delivery.Replay.SOURCE);
  private static final TaskIdentity TASK = new TaskIdentity("c", "run", 0, 7, false);

  private final MockProducer<byte[], byte[]> producer = producer();
  private TaskTransactions transactions;

  @BeforeEach
  void aTaskBegins() {
    ProducerPair only = new ProducerPair(producer, producer);
    TransactionalProducers.hold(Map.of(), DELIVERY.transactionalId(TASK), TASK.run(), true, only);
    transactions = TaskTransactions.begin(DELIVERY, TASK, Map.of(), record -> (written, e) -> {});
  }

  @AfterEach
  void noneIsHeld() {
    TransactionalProducers.discardAll(id -> true);
  }

  @Test
  void whatIsWrittenIsCommittedInTimeWithItsToken() throws Exception {
    transactions.write(record(1), 0, 1);
    await(() -> producer.commitCount() == 1);
    assertEquals(
        List.of("out", "tokens"), producer.history().stream().map(ProducerRecord::topic).toList());
  }

  @Test
  void noTokenSaysThatARecordWasWrittenThatWasNotSent() throws Exception {
    transactions.write(record(1), 0, 1);
    InterruptException stopped = new InterruptException("the task is being stopped");
    assertTrue(Thread.interrupted(), "Kafka's exception sets it");
    producer.sendException = stopped;
    assertSame(
        stopped, assertThrows(InterruptException.class, () -> transactions.write(record(2), 0, 2)));
    producer.sendException = null;
    TimeUnit.MILLISECONDS.sleep(4 * INTERVAL_MILLIS); // that nothing happens has no other sign
    assertEquals(0, producer.commitCount());
    transactions.abandon();
    await(producer::transactionAborted);
    assertFalse(producer.transactionCommitted());
  }

  @Test
  void aThreadThatTheTaskHasLeftIsNotInterrupted() throws Exception {
    SlowCommits slow = new SlowCommits();
    TaskTransactions left = begin(1, slow);
    left.write(record(1), 0, 1);
    assertTrue(slow.begun.await(30, TimeUnit.SECONDS));
    left.abandon();
    slow.failure = new KafkaException("the commit has timed out");
    slow.go.countDown(); // From here on the thread is another task's.
    await(slow::transactionAborted);
    assertFalse(Thread.interrupted());
  }

  @Test
  void aCommitThatFailsInterruptsItsTask() throws Exception {
    SlowCommits slow = new SlowCommits();
    TaskTransactions failing = begin(1, slow);
    failing.write(record(1), 0, 1);
    slow.failure = new KafkaException("the commit has timed out");
    slow.go.countDown();
    assertThrows(InterruptedException.class, () -> TimeUnit.SECONDS.sleep(30));
    assertSame(
        slow.failure, assertThrows(KafkaException.class, () -> failing.write(record(2), 0, 2)));
    failing.abandon();
  }

  @Test
  void slowCommitsDelayNoOtherTask() throws Exception {
    List<SlowCommits> slow = Stream.generate(SlowCommits::new).limit(20).toList();
    for (int i = 0; i < slow.size(); i++) {
      begin(100 + i, slow.get(i)).write(record(i), 0, 1);
    }
    try {
      for (SlowCommits each : slow) {
        assertTrue(each.begun.await(15, TimeUnit.SECONDS));
      }
      transactions.write(record(1), 0, 1);
      await(() -> producer.commitCount() == 1);
    } finally {
      slow.forEach(each -> each.go.countDown());
      for (SlowCommits each : slow) {
        await(() -> each.commitCount() == 1); // Else they fail, and interrupt this thread.
      }
    }
  }

  private static TaskTransactions begin(int task, MockProducer<byte[], byte[]> producer) {
    TaskIdentity identity = new TaskIdentity("c", "run", task, 7, false);
    ProducerPair only = new ProducerPair(producer, producer);
    String id = DELIVERY.transactionalId(identity);
    TransactionalProducers.hold(Map.of(), id, identity.run(), true, only);
    return TaskTransactions.begin(DELIVERY, identity, Map.of(), record -> (written, e) -> {});
  }

  /** Each commit waits until it is released, and fails if a failure is set by then. */
  private static final class SlowCommits extends MockProducer<byte[], byte[]> {
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch go = new CountDownLatch(1);
    private volatile KafkaException failure;

    private SlowCommits() {
      super(true, null, new ByteArraySerializer(), new ByteArraySerializer());
      initTransactions();
    }

    @Override
    public void commitTransaction() {
      begun.countDown();
      try {
        assertTrue(go.await(60, TimeUnit.SECONDS));
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      if (failure != null) {
        throw failure;
      }
      super.commitTransaction();
    }
  }

  private static ProducerRecord<byte[], byte[]> record(int value) {
    return new ProducerRecord<>("out", new byte[] {(byte) value});
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, "not in time");
      TimeUnit.MILLISECONDS.sleep(5);
    }
  }

  private static MockProducer<byte[], byte[]> producer() {
    ByteArraySerializer bytes = new ByteArraySerializer();
    MockProducer<byte[], byte[]> made = new MockProducer<>(true, null, bytes, bytes);
    made.initTransactions();
    return made;
  }
}
