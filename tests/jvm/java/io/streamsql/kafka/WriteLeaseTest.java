package io.streamsql.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a server that has lost its leadership still writes. */
@Timeout(20)
class WriteLeaseTest {
  private static final long LONG = TimeUnit.MINUTES.toNanos(1);
  private static final long SHORT = TimeUnit.MILLISECONDS.toNanos(20);

  private final String service = UUID.randomUUID().toString();
  private final Map<String, String> settings = Map.of(WriteLease.SETTING, service);
  private final WriteLease lease = WriteLease.of(settings);

  private void extend(long nanos) {
    WriteLease.extend(service, System.nanoTime() + nanos);
  }

  private static MockProducer<byte[], byte[]> shared(Map<String, String> settings) {
    ByteArraySerializer bytes = new ByteArraySerializer();
    MockProducer<byte[], byte[]> producer = new MockProducer<>(false, null, bytes, bytes);
    SharedProducers.share(settings, producer);
    return producer;
  }

  @Test
  void aProducerOfNoServiceNeedsNone() {
    assertNull(WriteLease.of(Map.of("acks", "all")));
  }

  @Test
  void aTaskWaitsUntilTheServerLeads() {
    CompletableFuture<Void> task = CompletableFuture.runAsync(lease::await);
    assertFalse(task.isDone());
    extend(LONG);
    task.join();
    lease.await(); // for nothing
    extend(-LONG);
    assertFalse(CompletableFuture.runAsync(lease::await).isDone());
  }

  @Test
  void aTaskThatIsStoppedWaitsNoLonger() {
    Thread.currentThread().interrupt();
    assertThrows(InterruptException.class, lease::await);
    Thread.interrupted();
  }

  @Test
  void producersAreClosedWhenItExpires() {
    Map<String, String> elsewhere = Map.of(WriteLease.SETTING, "other " + service);
    MockProducer<byte[], byte[]> own = shared(settings);
    MockProducer<byte[], byte[]> other = shared(elsewhere);
    extend(LONG);
    extend(SHORT);
    while (!own.closed()) {
      Thread.onSpinWait();
    }
    assertFalse(other.closed());
    assertSame(other, SharedProducers.get(elsewhere));
    SharedProducers.discard(elsewhere, other);
  }

  @Test
  void producersStayWhileItIsExtended() {
    MockProducer<byte[], byte[]> own = shared(settings);
    extend(SHORT);
    extend(LONG);
    MockProducer<byte[], byte[]> last = shared(Map.of(WriteLease.SETTING, "last " + service));
    WriteLease.extend("last " + service, System.nanoTime() + 2 * SHORT);
    while (!last.closed()) {
      Thread.onSpinWait();
    }
    assertFalse(own.closed());
    assertEquals(own, SharedProducers.get(settings));
    SharedProducers.discard(settings, own);
  }
}
