package io.streamsql.kafka;

import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Producers of Kafka's own for tests, in the place of those that tasks share. */
public final class MockProducers {
  private static final AtomicInteger MADE = new AtomicInteger();

  private MockProducers() {}

  /** A producer, and the settings by which tasks get it. */
  public record Shared(Map<String, String> settings, MockProducer<byte[], byte[]> producer) {}

  /**
   * A producer for the next tasks.
   *
   * @param completes whether each record is acknowledged at once
   */
  public static Shared share(boolean completes) {
    return share(completes, Map.of("client.id", "test " + MADE.incrementAndGet()));
  }

  /** A producer that writes under the lease of a service. */
  public static Shared shareLeased(String service) {
    return share(false, Map.of(WriteLease.SETTING, service));
  }

  private static Shared share(boolean completes, Map<String, String> settings) {
    ByteArraySerializer bytes = new ByteArraySerializer();
    MockProducer<byte[], byte[]> producer = new MockProducer<>(completes, null, bytes, bytes);
    SharedProducers.share(settings, producer);
    return new Shared(settings, producer);
  }

  /** A writer whose first record is there. */
  public static String writer() {
    Shared output = share(true);
    String writer = output.settings().get("client.id");
    ProducerRecord<byte[], byte[]> first = new ProducerRecord<>("out", new byte[0]);
    FirstRecord.of(writer).send(output.producer(), first, (written, e) -> {});
    return writer;
  }
}
