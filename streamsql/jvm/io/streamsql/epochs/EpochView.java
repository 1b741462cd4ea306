package io.streamsql.epochs;

import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/** One run of a view's query, as it goes through epochs. */
public final class EpochView {
  final String query;
  final String topic;
  final Set<String> bases;
  final Set<String> inputs;
  final long freshness;
  private final Epochs epochs;
  private final LongSupplier due;

  /** The read positions that the view waits at for its next epoch; null: it does not wait. */
  private Map<String, Map<Integer, Long>> waiting;

  /** The epoch that it is to do, or does; null: none. */
  private Cut current;

  private long done;
  private long earliest;
  private Map<Integer, Long> ends;

  /**
   * @param begun the number of the newest epoch, which the view does not do: its topics may have
   *     been others then
   */
  EpochView(
      Epochs epochs,
      String query,
      String topic,
      Set<String> bases,
      Set<String> inputs,
      long freshness,
      LongSupplier due,
      long begun) {
    this.done = begun;
    this.epochs = epochs;
    this.query = query;
    this.topic = topic;
    this.bases = Set.copyOf(bases);
    this.inputs = Set.copyOf(inputs);
    this.freshness = freshness;
    this.due = due;
  }

  /**
   * Where the inputs of the next batch end. Waits until an epoch has news for the view.
   *
   * @param positions up to which the view's batches have read; empty: not known
   */
  public Cut next(Map<String, Map<Integer, Long>> positions) throws InterruptedException {
    synchronized (epochs) {
      if (current != null && !current.isReached(positions)) {
        return current; // A batch may be limited: it has not taken all of the epoch.
      }
    }
    batchEnded(positions);
    synchronized (epochs) {
      waiting = positions;
      try {
        epochs.begins(this);
        while (current == null) {
          epochs.wait();
        }
        return current;
      } finally {
        waiting = null;
      }
    }
  }

  /** A batch has ended at these positions: what it writes is committed. */
  public void batchEnded(Map<String, Map<Integer, Long>> positions) throws InterruptedException {
    Cut reached;
    synchronized (epochs) {
      reached = current != null && current.isReached(positions) ? current : null;
    }
    if (reached == null) {
      return;
    }
    Map<Integer, Long> now = epochs.endsOf(topic);
    synchronized (epochs) {
      current = null;
      epochs.ended(this, reached.epoch(), now);
      epochs.settle();
    }
  }

  /** The number of the epoch that the view works on; 0: none. */
  public long epoch() {
    synchronized (epochs) {
      return current == null ? 0 : current.epoch();
    }
  }

  public void close() {
    epochs.leave(this);
  }

  // -- under the lock of the epochs ---------------------------------------------------------------

  boolean waits() {
    return waiting != null && current == null;
  }

  boolean works() {
    return current != null;
  }

  long due() {
    return due.getAsLong();
  }

  long done() {
    return done;
  }

  Map<Integer, Long> ends() {
    return ends;
  }

  /** Whether a batch is needed for an epoch that began at this time. */
  boolean hasNews(Cut cut, long time) {
    return ends == null || !cut.isReached(waiting) || due.getAsLong() <= time;
  }

  void give(Cut cut) {
    current = cut;
  }

  /** When the next epoch that the view does may begin. */
  long earliest() {
    return earliest;
  }

  void reach(long epoch, long time, Map<Integer, Long> now) {
    done = epoch;
    earliest = time + freshness;
    ends = now;
  }
}
