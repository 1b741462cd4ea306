package io.streamsql.epochs;

import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** Where the topics of views end their epochs: the ends of each partition. */
public final class EpochMarks {
  /** How many marks of a topic are kept: those of some minutes. */
  private static final int KEPT = 4_096;

  private final Map<String, NavigableMap<Long, Map<Integer, Long>>> marks = new HashMap<>();
  private final Map<String, Runnable> listeners = new ConcurrentHashMap<>();
  private boolean complete;

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
  public synchronized Map.Entry<Long, Map<Integer, Long>> after(String topic, long epoch) {
    NavigableMap<Long, Map<Integer, Long>> of = marks.get(topic);
    return of == null ? null : of.higherEntry(epoch);
  }

  /** The newest mark of a topic; null: there is none. */
  public synchronized Map.Entry<Long, Map<Integer, Long>> newest(String topic) {
    NavigableMap<Long, Map<Integer, Long>> of = marks.get(topic);
    return of == null ? null : of.lastEntry();
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

  /** A topic has a whole epoch, up to these ends. */
  public void add(String topic, long epoch, Map<Integer, Long> ends) {
    synchronized (this) {
      NavigableMap<Long, Map<Integer, Long>> of =
          marks.computeIfAbsent(topic, each -> new TreeMap<>());
      // A server that has just lost its leadership may write a mark of an earlier epoch.
      if (!of.isEmpty() && of.lastKey() >= epoch) {
        return;
      }
      if (!of.isEmpty() && !Cut.isWithin(of.lastEntry().getValue(), ends)) {
        of.clear(); // The topic is another one of the same name.
      }
      of.put(epoch, ends);
      if (of.size() > KEPT) {
        of.pollFirstEntry();
      }
    }
    listeners.getOrDefault(topic, () -> {}).run();
  }
}
