package io.streamsql.kafka;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InterruptException;

/**
 * The records of one task that a shared producer has not told of yet.
 *
 * <p>A producer's own {@code flush()} waits for the records of all tasks; those to a topic that was
 * deleted meanwhile, as that of a push query is, are given up after two minutes only.
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

  /** Before a record is sent. */
  public synchronized void add() {
    count++;
  }

  /** A record is written, or is given up. */
  public synchronized void done() {
    count--;
    if (count == 0) {
      notifyAll();
    }
  }

  /**
   * Has the producer send what it holds, and waits until all records here are done.
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

  /** Nothing of a producer lingers while one flush of it goes on, so it needs no second one. */
  private static void send(Producer<byte[], byte[]> producer) {
    if (FLUSHED.add(producer)) {
      FLUSHES.execute(
          () -> {
            try {
              producer.flush();
            } catch (KafkaException | IllegalStateException e) {
              // The records tell of it, each to its own task.
            } finally {
              FLUSHED.remove(producer);
            }
          });
    }
  }
}
