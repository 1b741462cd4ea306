package io.streamsql.kafka;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.InterruptException;

/**
 * Has the first record that a writer sends be acknowledged before it sends others.
 *
 * <p>A producer that has written to a topic which was deleted since, and made anew, knows the old
 * one's id. While it learns of the new one, records that it has sent with the old id wait to be
 * sent again, and later ones may be there before them. The broker takes those, since it has none
 * yet from this producer, and refuses the others as out of sequence, until they have timed out two
 * minutes later.
 */
public final class FirstRecord {
  /** One that is forgotten too early costs its writer's tasks a wait each. */
  private static final int MOST = 1_000;

  private static final Map<String, FirstRecord> WRITERS =
      Collections.synchronizedMap(
          new LinkedHashMap<>() {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<String, FirstRecord> eldest) {
              return size() > MOST;
            }
          });

  private volatile boolean sent;

  /** That of a writer, which may be many tasks of this JVM. */
  public static FirstRecord of(String writer) {
    return WRITERS.computeIfAbsent(writer, w -> new FirstRecord());
  }

  /** Sends a record as the producer does, be it the first one or after that is there. */
  @SuppressWarnings("FutureReturnValueIgnored") // the callback hears of it
  public void send(
      Producer<byte[], byte[]> producer, ProducerRecord<byte[], byte[]> record, Callback callback) {
    if (!sent && isFirst(producer, record, callback)) {
      return;
    }
    producer.send(record, callback);
  }

  private synchronized boolean isFirst(
      Producer<byte[], byte[]> producer, ProducerRecord<byte[], byte[]> record, Callback callback) {
    if (sent) {
      return false;
    }
    try {
      producer.send(record, callback).get();
      sent = true;
    } catch (ExecutionException e) {
      return true; // the callback has heard of it, and the next record is the first
    } catch (InterruptedException e) {
      throw new InterruptException(e);
    }
    return true;
  }
}
