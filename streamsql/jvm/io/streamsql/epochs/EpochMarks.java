package io.streamsql.epochs;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;

/** Where the topics of views end their epochs, and the newest epoch that has begun. */
public final class EpochMarks {
  /** How many marks of a topic are kept: those of some minutes. */
  private static final int KEPT = 4_096;

  /**
   * A topic has a whole epoch.
   *
   * @param time when the epoch began, in ms
   * @param ends up to where: the next offset of each partition
   */
  public record Mark(long epoch, long time, Map<Integer, Long> ends) {}

  private final Map<String, NavigableMap<Long, Mark>> marks = new HashMap<>();
  private final Map<String, Runnable> listeners = new ConcurrentHashMap<>();
  private boolean complete;
  private volatile long begun;

  /** The marks that have been written before are known. */
  public synchronized void completed() {
    complete = true;
    notifyAll();
  }

  /** Waits until those are known. */
  public synchronized boolean awaitComplete(long millis) throws InterruptedException {
    long deadline = System.currentTimeMillis() + millis;
    while (!complete) {
      long left = deadline - System.currentTimeMillis();
      if (left <= 0) {
        return false;
      }
      wait(left);
    }
    return true;
  }

  /** The first mark of a topic after an epoch; null: there is none. */
  public synchronized Mark after(String topic, long epoch) {
    NavigableMap<Long, Mark> of = marks.get(topic);
    return of == null || of.higherEntry(epoch) == null ? null : of.higherEntry(epoch).getValue();
  }

  /** The newest mark of a topic; null: there is none. */
  public synchronized Mark newest(String topic) {
    NavigableMap<Long, Mark> of = marks.get(topic);
    return of == null ? null : of.lastEntry().getValue();
  }

  /**
   * Where topics end the newest epoch that all of them have.
   *
   * @param after one that is before it
   * @return null: there is none
   */
  public synchronized Map<String, Mark> common(Collection<String> topics, long after) {
    List<UnaryOperator<Long>> known = new ArrayList<>();
    topics.forEach(topic -> known.add(marks.getOrDefault(topic, new TreeMap<>())::floorKey));
    Long epoch = nearestOfAll(known, Long.MAX_VALUE);
    if (epoch == null || epoch <= after) {
      return null;
    }
    Map<String, Mark> found = new HashMap<>();
    topics.forEach(topic -> found.put(topic, marks.get(topic).get(epoch)));
    return found;
  }

  /**
   * The nearest epoch, in one direction, that all have; null: there is none.
   *
   * @param nearest of each: the nearest to a number that it has, or null
   */
  public static Long nearestOfAll(Collection<UnaryOperator<Long>> nearest, long from) {
    Long at = from;
    boolean same = false;
    while (at != null && !same) {
      same = true;
      for (UnaryOperator<Long> each : nearest) {
        Long found = at == null ? null : each.apply(at);
        same &= at != null && at.equals(found);
        at = found;
      }
    }
    return at;
  }

  /** The same, once there is one. */
  public synchronized Map<String, Mark> awaitCommon(Collection<String> topics, long after)
      throws InterruptedException {
    Map<String, Mark> found;
    while ((found = common(topics, after)) == null) {
      wait();
    }
    return found;
  }

  /** The number of the newest epoch that has begun; 0: none is known. */
  public long begun() {
    return begun;
  }

  void begin(long epoch) {
    begun = Math.max(begun, epoch);
  }

  /** Calls a listener after each mark of a topic: one for each topic. */
  public void listen(String topic, Runnable listener) {
    listeners.put(topic, listener);
  }

  public void silence(String topic) {
    listeners.remove(topic);
  }

  /** A topic is deleted: one of its name has epochs of its own, or none. */
  public void forget(String topic) {
    synchronized (this) {
      marks.remove(topic);
    }
    listeners.getOrDefault(topic, () -> {}).run();
  }

  public void add(String topic, Mark mark) {
    synchronized (this) {
      NavigableMap<Long, Mark> of = marks.computeIfAbsent(topic, each -> new TreeMap<>());
      // A server that has just lost its leadership may write a mark of an earlier epoch.
      if (!of.isEmpty() && of.lastKey() >= mark.epoch()) {
        return;
      }
      if (!of.isEmpty() && !Cut.isWithin(of.lastEntry().getValue().ends(), mark.ends())) {
        of.clear(); // The topic is another one of the same name.
      }
      of.put(mark.epoch(), mark);
      if (of.size() > KEPT) {
        of.pollFirstEntry();
      }
      notifyAll();
    }
    listeners.getOrDefault(topic, () -> {}).run();
  }
}
