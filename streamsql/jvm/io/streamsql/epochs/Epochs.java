package io.streamsql.epochs;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The epochs of an engine's views.
 *
 * <p>An epoch is one cut of all base topics: those that views read and no view writes. A view has
 * done an epoch when its topic holds the answer over that cut. A view that reads views begins an
 * epoch when these have done it, and reads their topics up to where they ended it. So all views
 * that have done an epoch are of the same moment.
 *
 * <p>One thread decides on epochs, while there are views. A view without news has done an epoch as
 * soon as its inputs have, without a batch.
 */
public final class Epochs {
  private static final Logger LOG = LoggerFactory.getLogger(Epochs.class);

  /** How many epochs may be unfinished when the next one begins. */
  private static final int OPEN = 2;

  /** A view that takes longer for an epoch holds back the views that read it, not the next one. */
  private static final long PATIENCE_MILLIS = 1_000;

  /** How long a view may be behind and still take the epochs that have begun since. */
  private static final long KEPT_MILLIS = 600_000;

  private static final long LOOK_MILLIS = 10_000;
  private static final long LEAST_MILLIS = 10;
  private static final long COMMIT_MILLIS = 30_000;

  private record Epoch(long number, long time, Map<String, Map<Integer, Long>> cut) {}

  private final Topics topics;
  private final EpochLog log;
  private final LongSupplier clock;
  private final List<EpochView> views = new ArrayList<>();

  /** The epochs that views may still have to do, the newest last. */
  private final Deque<Epoch> begun = new ArrayDeque<>();

  /** By the topic of a view: where it ended each epoch that it has done. */
  private final Map<String, NavigableMap<Long, Map<Integer, Long>>> done = new HashMap<>();

  /** The last number that an epoch has been given. */
  private long number;

  /** How many views have joined, and how many of them had by the newest epoch. */
  private long joined;

  private long served;
  private Thread thread;

  /** Until when the thread waits for records, and may be interrupted; 0: it does not. */
  private long restsUntil;

  /**
   * @param clock the time in milliseconds since the Unix epoch
   */
  public Epochs(Topics topics, EpochLog log, LongSupplier clock) {
    this.topics = topics;
    this.log = log;
    this.clock = clock;
  }

  /**
   * Adds a view, until it is closed.
   *
   * @param query its query
   * @param topic what it writes
   * @param bases the topics it reads that no view writes
   * @param inputs the topics of views it reads
   * @param freshness the least time between two epochs, in milliseconds
   * @param due when it has rows without records, in milliseconds since the Unix epoch
   */
  public synchronized EpochView join(
      String query,
      String topic,
      Set<String> bases,
      Set<String> inputs,
      long freshness,
      LongSupplier due) {
    EpochView view = new EpochView(this, query, topic, bases, inputs, freshness, due, number);
    views.add(view);
    // Its topic may be another one of the same name.
    done.put(topic, new TreeMap<>());
    joined++;
    if (thread == null) {
      thread = new Thread(this::run, "epochs");
      thread.setDaemon(true);
      thread.start();
    } else if (restsUntil > 0) {
      thread.interrupt();
    }
    notifyAll();
    return view;
  }

  synchronized void leave(EpochView view) {
    views.remove(view);
    notifyAll();
  }

  /** By the query of a view: the topic of the view that holds it back, and since when. */
  public synchronized Map<String, Held> held() {
    Map<String, Held> found = new HashMap<>();
    for (EpochView view : views) {
      for (Epoch epoch : begun) {
        String by = epoch.number() > view.done() ? holder(view, epoch.number()) : null;
        if (by != null) {
          found.put(view.query, new Held(by, epoch.time()));
          break;
        }
      }
    }
    return found;
  }

  /**
   * What holds a view back.
   *
   * @param topic of the view that has not done an epoch
   * @param since when that epoch began, in milliseconds since the Unix epoch
   */
  public record Held(String topic, long since) {}

  /** The first view upstream that has not done an epoch though its own inputs have; or null. */
  private String holder(EpochView view, long epoch) {
    for (String input : view.inputs) {
      if (!done.getOrDefault(input, new TreeMap<>()).containsKey(epoch)) {
        for (EpochView writer : views) {
          String above = writer.topic.equals(input) ? holder(writer, epoch) : null;
          if (above != null) {
            return above;
          }
        }
        return input;
      }
    }
    return null;
  }

  // -- deciding -----------------------------------------------------------------------------------

  private void run() {
    while (true) {
      try {
        if (!await()) {
          return;
        }
        decide();
      } catch (InterruptedException byView) {
        // One has joined, or is due before the time until which the thread would have waited.
      } catch (KafkaException unreachable) {
        pause(); // Views have nothing to read until the cluster is back.
      } catch (RuntimeException failed) {
        LOG.warn("No epoch can begin; retrying", failed);
        pause();
      }
    }
  }

  private static void pause() {
    try {
      Thread.sleep(PATIENCE_MILLIS);
    } catch (InterruptedException byView) {
      // It tries earlier.
    }
  }

  /** Waits until the next epoch may begin; false: there are no views, and the thread ends. */
  private synchronized boolean await() throws InterruptedException {
    long end = clock.getAsLong() + PATIENCE_MILLIS;
    while (views.isEmpty() && clock.getAsLong() < end) {
      wait(PATIENCE_MILLIS);
    }
    if (views.isEmpty()) {
      thread = null;
      return false;
    }
    while (joined == served && !begun.isEmpty()) {
      long since = clock.getAsLong() - begun.getLast().time();
      long least = views.stream().mapToLong(view -> view.freshness).min().orElse(0);
      long left = unfinished() >= OPEN ? Math.max(least, PATIENCE_MILLIS) - since : least - since;
      if (left <= 0) {
        break;
      }
      wait(left);
    }
    return true;
  }

  /** How many epochs a view that works has not done. */
  private int unfinished() {
    long oldest =
        views.stream().filter(EpochView::works).mapToLong(EpochView::done).min().orElse(number);
    return (int) begun.stream().filter(epoch -> epoch.number() > oldest).count();
  }

  private void decide() throws InterruptedException {
    Set<String> bases = new HashSet<>();
    long serves;
    boolean first;
    synchronized (this) {
      views.forEach(view -> bases.addAll(view.bases));
      serves = joined;
      first = serves != served;
    }
    Map<String, Map<Integer, Long>> written = topics.written(bases);
    Map<String, Map<Integer, Long>> cut = topics.committed(written);
    long now = clock.getAsLong();
    if (first || isNews(cut, now)) {
      begin(cut, now, serves);
      return;
    }
    rest(written, now);
    settle();
  }

  /** The number of the newest epoch that has begun: one that could not be written has not. */
  private long newest() {
    return begun.isEmpty() ? 0 : begun.getLast().number();
  }

  /** When a view that gathers changes for longer than others takes them. */
  private synchronized long gathered(long now) {
    return views.stream()
        .filter(view -> view.done() < newest())
        .mapToLong(EpochView::earliest)
        .filter(time -> time > now)
        .min()
        .orElse(Long.MAX_VALUE);
  }

  /** Returns when the topics have news, a view has joined, or one is due. */
  private void rest(Map<String, Map<Integer, Long>> written, long now) throws InterruptedException {
    long most;
    synchronized (this) {
      if (joined != served) {
        return;
      }
      long due = Math.min(due(), gathered(now)) - now;
      most = Math.max(LEAST_MILLIS, Math.min(due, LOOK_MILLIS));
      restsUntil = clock.getAsLong() + most;
    }
    try {
      topics.awaitOthers(written, most);
    } finally {
      synchronized (this) {
        restsUntil = 0;
      }
    }
  }

  /** A view has done its batch: it may be due while the thread rests. */
  synchronized void begins(EpochView view) {
    settle();
    long due = view.done() < newest() ? view.earliest() : view.due();
    if (view.waits() && due < restsUntil) {
      thread.interrupt();
    }
  }

  private synchronized boolean isNews(Map<String, Map<Integer, Long>> cut, long now) {
    return begun.isEmpty() || !begun.getLast().cut().equals(cut) || due() <= now;
  }

  /** When a view that has done all epochs has rows without records. */
  private synchronized long due() {
    return views.stream()
        .filter(view -> view.waits() && view.done() >= newest())
        .mapToLong(EpochView::due)
        .min()
        .orElse(Long.MAX_VALUE);
  }

  private void begin(Map<String, Map<Integer, Long>> cut, long now, long serves)
      throws InterruptedException {
    long next;
    synchronized (this) {
      number = Math.max(number, log.newest()) + 1;
      next = number;
    }
    log.begins(next, now, cut);
    synchronized (this) {
      begun.add(new Epoch(next, now, cut));
      served = serves;
      forget(now);
      settle();
    }
  }

  private void forget(long now) {
    while (begun.size() > 1 && begun.getFirst().time() < now - KEPT_MILLIS) {
      long gone = begun.removeFirst().number();
      done.values().forEach(ends -> ends.headMap(gone, true).clear());
    }
  }

  // -- what a view does next ----------------------------------------------------------------------

  /** Gives each waiting view its next epoch; passes those over that have no news of it. */
  synchronized void settle() {
    boolean moved = true;
    while (moved) {
      moved = false;
      for (EpochView view : views) {
        Cut next = view.waits() ? next(view) : null;
        if (next == null) {
          continue;
        }
        if (view.hasNews(next, time(next.epoch()))) {
          view.give(next);
        } else {
          moved = true;
          passOver(view, next.epoch());
        }
      }
    }
    notifyAll();
  }

  /**
   * A view without news up to an epoch has done it, and those before that its inputs have done. One
   * that an input has left out may have had another answer, which has changed back since.
   */
  private void passOver(EpochView view, long last) {
    for (Epoch epoch : begun) {
      long number = epoch.number();
      if (number > view.done() && number <= last && ends(view, epoch) != null) {
        ended(view, number, view.ends());
      }
    }
  }

  /** A view has done an epoch: its topic has these ends. */
  synchronized void ended(EpochView view, long epoch, Map<Integer, Long> ends) {
    long time = time(epoch);
    view.reach(epoch, time, ends);
    done.get(view.topic).put(epoch, ends);
    log.ends(view.topic, epoch, time, ends);
  }

  /** When an epoch began; 0: it has been forgotten. */
  private long time(long epoch) {
    return begun.stream().filter(e -> e.number() == epoch).findFirst().map(Epoch::time).orElse(0L);
  }

  /**
   * The next epoch of a view: one that its inputs have done. A view that is behind takes several in
   * one step, up to the one whose number has the most factors of two: so two views that are behind
   * end in the same epochs.
   */
  private Cut next(EpochView view) {
    if (clock.getAsLong() < view.earliest()) {
      return null;
    }
    Cut found = null;
    for (Epoch epoch : begun) {
      long candidate = epoch.number();
      boolean later = candidate > view.done();
      boolean better = found == null || factors(candidate) >= factors(found.epoch());
      Map<String, Map<Integer, Long>> ends = later && better ? ends(view, epoch) : null;
      if (ends != null) {
        found = new Cut(candidate, ends);
      }
    }
    return found;
  }

  private static int factors(long number) {
    return Long.numberOfTrailingZeros(number);
  }

  /** Where a view's inputs end in an epoch; null: one has not done it. */
  private Map<String, Map<Integer, Long>> ends(EpochView view, Epoch epoch) {
    Map<String, Map<Integer, Long>> found = new HashMap<>();
    for (String base : view.bases) {
      if (!epoch.cut().containsKey(base)) {
        return null;
      }
      found.put(base, epoch.cut().get(base));
    }
    for (String input : view.inputs) {
      Map<Integer, Long> ends = done.getOrDefault(input, new TreeMap<>()).get(epoch.number());
      if (ends == null) {
        return null;
      }
      found.put(input, ends);
    }
    return found;
  }

  /** The ends of a view's topic, once all that it has written is committed. */
  Map<Integer, Long> endsOf(String topic) throws InterruptedException {
    Map<String, Map<Integer, Long>> written = topics.written(Set.of(topic));
    long deadline = clock.getAsLong() + COMMIT_MILLIS;
    while (true) {
      Map<Integer, Long> committed = topics.committed(written).getOrDefault(topic, Map.of());
      // A producer's commit returns before its mark is in all partitions.
      if (Cut.isWithin(written.get(topic), committed)) {
        return committed;
      }
      if (clock.getAsLong() > deadline) {
        throw new TimeoutException("a transaction of the topic " + topic + " does not end");
      }
      Thread.sleep(1);
    }
  }
}
