package io.streamsql.shuffle;

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.util.MutablePair;
import scala.Product2;
import scala.collection.AbstractIterator;

/** What the task that reads a lane sees of it; the key of a pair has done its work before. */
final class LaneRows<K, C> extends AbstractIterator<Product2<K, C>> {
  private final Lane lane;
  private final TaskContext task;
  private final MutablePair<K, C> pair = new MutablePair<>();
  private ArrayDeque<Object> taken = new ArrayDeque<>();
  private boolean ended;

  LaneRows(Lane lane, TaskContext task) {
    this.lane = lane;
    this.task = task;
  }

  @Override
  public boolean hasNext() {
    if (taken.isEmpty() && !ended) {
      try {
        taken = lane.take(taken, task);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        task.killTaskIfInterrupted();
        // A task that is killed is run again, one that fails ends the job: what this one has taken
        // from the lane is nowhere any more.
        throw new UncheckedIOException(new InterruptedIOException("the task was interrupted"));
      }
      ended = taken.isEmpty();
    }
    return !ended;
  }

  @Override
  @SuppressWarnings("unchecked") // What the writer was given is what the reader expects.
  public Product2<K, C> next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    pair._2_$eq((C) taken.poll());
    return pair;
  }
}
