package io.streamsql.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class FirstRecordTest {
  private final MockProducer<byte[], byte[]> producer =
      new MockProducer<>(false, null, new ByteArraySerializer(), new ByteArraySerializer());
  private final String writer = UUID.randomUUID().toString();
  private final AtomicInteger failed = new AtomicInteger();

  private CompletableFuture<Void> send(int value) {
    ProducerRecord<byte[], byte[]> row = new ProducerRecord<>("out", new byte[] {(byte) value});
    return CompletableFuture.runAsync(
        () ->
            FirstRecord.of(writer)
                .send(
                    producer,
                    row,
                    (written, e) -> {
                      if (e != null) {
                        failed.incrementAndGet();
                      }
                    }));
  }

  private void awaitSent(int count) {
    while (producer.history().size() < count) {
      Thread.onSpinWait();
    }
  }

  @Test
  void othersFollowWhenTheFirstIsThere() {
    CompletableFuture<Void> first = send(1);
    awaitSent(1);
    CompletableFuture<Void> second = send(2);
    assertEquals(1, producer.history().size());
    producer.completeNext();
    first.join();
    second.join();
    send(3).join(); // which waits for nothing any more
    assertEquals(3, producer.history().size());
  }

  @Test
  void afterOneThatFailedTheNextIsTheFirst() {
    CompletableFuture<Void> first = send(1);
    awaitSent(1);
    producer.errorNext(new TimeoutException("played"));
    first.join();
    assertEquals(1, failed.get());
    final CompletableFuture<Void> second = send(2);
    awaitSent(2);
    CompletableFuture<Void> third = send(3);
    assertEquals(2, producer.history().size());
    producer.completeNext();
    second.join();
    third.join();
  }
}
