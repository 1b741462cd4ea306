package io.streamsql.shuffle;

import java.util.ArrayDeque;
import org.apache.spark.TaskContext;

/**
 * The rows of one partition of a shuffle, from all tasks that write to it to the one that reads it.
 * Rows of one writer keep their order.
 */
final class RowQueue {
  /** Writers wait for the reader beyond this size. */
  private static final long MOST_BYTES = 1L << 20;

  /** How often a waiting task checks whether it was killed, in case of a missed interrupt. */
  private static final long LOOK_MS = 200;

  private ArrayDeque<Object> rows = new ArrayDeque<>();
  private boolean read;
  private long bytes;
  private int writing;

  /** Whether the reader waits for rows, and since when it has had some without a break. */
  private boolean idle;

  private long workingSince = System.nanoTime();

  RowQueue(int writers) {
    writing = writers;
  }

  /**
   * Begins to read, which one task does once.
   *
   * @throws IllegalStateException if another task has read it, whose rows would be missing
   */
  synchronized void open() {
    if (read) {
      throw new IllegalStateException("another task has read this partition of the shuffle");
    }
    read = true;
  }

  /** Adds a row, which must not be modified any more; waits while the reader is far behind. */
  synchronized void put(Object row, int size, TaskContext task) throws InterruptedException {
    while (bytes >= MOST_BYTES) {
      wait(LOOK_MS);
      task.killTaskIfInterrupted();
    }
    bytes += size;
    rows.add(row);
    if (rows.size() == 1) {
      notifyAll();
    }
  }

  /** One of the writers is done. */
  synchronized void end() {
    writing--;
    notifyAll();
  }

  /**
   * All available rows, after at least one; none when all writers are done.
   *
   * @param empty replaces the returned queue
   */
  synchronized ArrayDeque<Object> take(ArrayDeque<Object> empty, TaskContext task)
      throws InterruptedException {
    idle = rows.isEmpty();
    while (rows.isEmpty() && writing > 0) {
      wait(LOOK_MS);
      task.killTaskIfInterrupted();
    }
    if (idle && !rows.isEmpty()) {
      idle = false;
      workingSince = System.nanoTime();
    }
    ArrayDeque<Object> taken = rows;
    rows = empty;
    if (bytes >= MOST_BYTES) {
      notifyAll();
    }
    bytes = 0;
    return taken;
  }

  /** How long the reader has had rows without a break, in ns. */
  synchronized long workingFor() {
    return idle ? 0 : System.nanoTime() - workingSince;
  }
}
