package io.streamsql.kafka;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InterruptException;

/**
 * The unacknowledged records of one task on a shared producer.
 *
 * <p>A producer's own {@code flush()} waits for the records of all tasks; records to a topic that
 * was deleted meanwhile, such as a push query's, fail only after two minutes.
 */
public final class PendingRecords {
  private static final ExecutorService FLUSHES =
      Executors.newCachedThreadPool(
          work -> {
            Thread thread = new Thread(work, "streamsql-flush");
            thread.setDaemon(true);
            return thread;
          });
  private static final Set<Producer<byte[], byte[]>> FLUSHED = ConcurrentHashMap.newKeySet();

  private long count;

  /** Called before a record is sent. */
  public synchronized void add() {
    count++;
  }

  /** Called when a record is written or has failed. */
  public synchronized void done() {
    count--;
    if (count == 0) {
      notifyAll();
    }
  }

  /**
   * Flushes the producer and waits until all records here are acknowledged.
   *
   * @throws InterruptException where the task is interrupted meanwhile
   */
  public void flush(Producer<byte[], byte[]> producer) {
    synchronized (this) {
      if (count == 0) {
        return;
      }
    }
    send(producer);
    await();
  }

  private synchronized void await() {
    try {
      while (count > 0) {
        wait();
      }
    } catch (InterruptedException e) {
      throw new InterruptException(e);
    }
  }

  /** A running flush covers all records of the producer, so a second one is not needed. */
  private static void send(Producer<byte[], byte[]> producer) {
    if (FLUSHED.add(producer)) {
      FLUSHES.execute(
          () -> {
            try {
              producer.flush();
            } catch (KafkaException | IllegalStateException e) {
              // Each record reports a failure to its own task.
            } finally {
              FLUSHED.remove(producer);
            }
          });
    }
  }
}
