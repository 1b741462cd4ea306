package io.streamsql.delivery;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.Map;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which run may take over whose producers. */
class TransactionalProducersTest {
  private static final Map<String, String> SETTINGS = Map.of("linger.ms", "0");

  private final ProducerPair first = held("task 0");
  private final ProducerPair second = held("task 1");

  @AfterEach
  void forget() {
    TransactionalProducers.discardAll(id -> id.startsWith("task"));
  }

  @Test
  void aRunHasItsOwnFromBatchToBatch() {
    assertSame(first, known("task 0", "run 1"));
    assertNull(known("task 2", "run 1"));
  }

  @Test
  void noRunTakesOverProducersOfAnAbortedRun() {
    assertNull(known("task 0", "run 2"));
    TransactionalProducers.pass("another run");
    assertNull(known("task 0", "run 2"));
  }

  @Test
  void theNextRunHasThoseOfOneThatStoppedInOrder() {
    TransactionalProducers.pass("run 1");
    assertSame(first, known("task 0", "run 2"));
    assertSame(second, known("task 1", "run 2"));
    assertSame(first, known("task 0", "run 2"), "its next batch");
    assertNull(known("task 0", "run 1"));
  }

  @Test
  void theRunAfterTheNextHasNone() {
    TransactionalProducers.pass("run 1");
    assertSame(first, known("task 0", "run 2"));
    assertNull(known("task 0", "run 3"));
    assertNull(known("task 1", "run 3"), "run 2 may have committed a part of its batch");
  }

  @Test
  void othersAreNeededForOtherSettings() {
    TransactionalProducers.pass("run 1");
    assertNull(TransactionalProducers.known(SETTINGS, "task 0", "run 2", false));
    assertNull(TransactionalProducers.known(Map.of(), "task 0", "run 2", true));
  }

  private static ProducerPair known(String id, String run) {
    return TransactionalProducers.known(SETTINGS, id, run, true);
  }

  private static ProducerPair held(String id) {
    ByteArraySerializer bytes = new ByteArraySerializer();
    MockProducer<byte[], byte[]> producer = new MockProducer<>(true, null, bytes, bytes);
    ProducerPair producers = new ProducerPair(producer, producer);
    TransactionalProducers.hold(SETTINGS, id, "run 1", true, producers);
    return producers;
  }
}
