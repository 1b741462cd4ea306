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
 * Makes a writer wait for the acknowledgment of its first record before it sends others.
 *
 * <p>A producer that has written to a topic which was deleted and recreated since knows the old
 * topic's id. While it learns the new one, records that it sent with the old id wait to be sent
 * again, and later ones may overtake them. The broker accepts those, since it has none yet from
 * this producer, and refuses the others as out of sequence, until they time out two minutes later.
 */
public final class FirstRecord {
  /** Evicting a writer too early costs each of its tasks one wait. */
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

  /** The first record of a writer, which may be many tasks of this JVM. */
  public static FirstRecord of(String writer) {
    return WRITERS.computeIfAbsent(writer, w -> new FirstRecord());
  }

  /** Sends a record, the first one or after the first one is acknowledged. */
  @SuppressWarnings("FutureReturnValueIgnored") // the callback receives the failure
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
      return true; // the callback has received the failure; the next record is the first
    } catch (InterruptedException e) {
      throw new InterruptException(e);
    }
    return true;
  }
}
