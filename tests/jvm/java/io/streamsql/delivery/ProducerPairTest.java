package io.streamsql.delivery;

import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;

/** Whose turn it is. */
class ProducerPairTest {
  @Test
  void theyTakeTurns() {
    MockProducer<byte[], byte[]> first = producer();
    MockProducer<byte[], byte[]> second = producer();
    ProducerPair pair = new ProducerPair(first, second);
    assertSame(first, pair.current());
    pair.alternate();
    assertSame(second, pair.current());
    pair.alternate();
    assertSame(first, pair.current());
    pair.close();
    assertTrue(first.closed() && second.closed());
  }

  @Test
  void oneMayBeEnough() {
    MockProducer<byte[], byte[]> only = producer();
    ProducerPair pair = new ProducerPair(only, only);
    pair.alternate();
    assertSame(only, pair.current());
    pair.close();
    assertTrue(only.closed());
  }

  private static MockProducer<byte[], byte[]> producer() {
    ByteArraySerializer bytes = new ByteArraySerializer();
    return new MockProducer<>(true, null, bytes, bytes);
  }
}
