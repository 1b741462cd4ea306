package io.streamsql.shuffle;

import java.util.ArrayDeque;
import org.apache.spark.TaskContext;

/**
 * The rows of one partition of a shuffle, from all tasks that write to it to the one that reads it.
 * Rows of one writer keep their order.
 */
final class Lane {
  /** More than that waits for the reader, however fast rows are written. */
  private static final long MOST_BYTES = 1L << 20;

  /** How often who waits looks whether its task is to end, should nobody interrupt it. */
  private static final long LOOK_MS = 200;

  private ArrayDeque<Object> rows = new ArrayDeque<>();
  private boolean read;
  private long bytes;
  private int writing;

  /** Whether the reader has no row to work on, and since when it has had some without a break. */
  private boolean idle;

  private long workingSince = System.nanoTime();

  Lane(int writers) {
    writing = writers;
  }

  /**
   * Begins to read, which one task does once.
   *
   * @throws IllegalStateException for another, as its rows would be those that the first one left
   */
  synchronized void open() {
    if (read) {
      throw new IllegalStateException("the rows of a lane have been taken by a task before");
    }
    read = true;
  }

  /** Adds a row that nobody changes any more; waits while the reader is far behind. */
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

  /** One of the writers has written all that it had. */
  synchronized void end() {
    writing--;
    notifyAll();
  }

  /**
   * All rows that are there, once there are any; none when all writers have ended.
   *
   * @param empty takes the place of what is given
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

  /** For how long the reader has had rows to work on without a break, in ns. */
  synchronized long workingFor() {
    return idle ? 0 : System.nanoTime() - workingSince;
  }
}
