package io.streamsql.shuffle;

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.util.MutablePair;
import scala.Product2;
import scala.collection.AbstractIterator;

/** The rows for the task that reads a partition; the key of a pair was only for partitioning. */
final class QueuedRows<K, C> extends AbstractIterator<Product2<K, C>> {
  private final RowQueue queue;
  private final TaskContext task;
  private final MutablePair<K, C> pair = new MutablePair<>();
  private ArrayDeque<Object> taken = new ArrayDeque<>();
  private boolean ended;

  QueuedRows(RowQueue queue, TaskContext task) {
    this.queue = queue;
    this.task = task;
  }

  @Override
  public boolean hasNext() {
    if (taken.isEmpty() && !ended) {
      try {
        taken = queue.take(taken, task);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        task.killTaskIfInterrupted();
        // A killed task runs again and a failed one ends the job: rows that this one took are lost.
        throw new UncheckedIOException(new InterruptedIOException("the task was interrupted"));
      }
      ended = taken.isEmpty();
    }
    return !ended;
  }

  @Override
  @SuppressWarnings("unchecked") // The reader expects what the writer was given.
  public Product2<K, C> next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    pair._2_$eq((C) taken.poll());
    return pair;
  }
}
