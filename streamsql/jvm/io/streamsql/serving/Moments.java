package io.streamsql.serving;

import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.Snapshot;

/**
 * The rows of a view's store at the ends of its latest epochs: snapshots of its database, each kept
 * for some time and for as long as it is read.
 */
final class Moments {
  private final TreeMap<Long, Moment> kept = new TreeMap<>();
  private final long historyMs;

  Moments(long historyMs) {
    this.historyMs = historyMs;
  }

  /** The rows at the end of one epoch. */
  static final class Moment {
    private final RocksDB db;
    private final Snapshot snapshot;
    private final long time;
    private int users = 1;

    private Moment(RocksDB db, long time) {
      this.db = db;
      this.snapshot = db.getSnapshot();
      this.time = time;
    }

    ReadOptions options() {
      return new ReadOptions().setSnapshot(snapshot);
    }

    private synchronized boolean use() {
      if (users == 0) {
        return false;
      }
      users++;
      return true;
    }

    synchronized void release() {
      if (--users == 0) {
        db.releaseSnapshot(snapshot);
      }
    }
  }

  /** The database is as at the end of an epoch now. */
  synchronized void add(long epoch, RocksDB db) {
    long now = System.currentTimeMillis();
    Moment before = kept.put(epoch, new Moment(db, now));
    if (before != null) {
      before.release();
    }
    while (kept.firstEntry().getValue().time < now - historyMs && kept.size() > 1) {
      kept.pollFirstEntry().getValue().release();
    }
  }

  /** The moment of an epoch, to be released; null: it is not kept. */
  synchronized Moment use(long epoch) {
    Moment found = kept.get(epoch);
    return found != null && found.use() ? found : null;
  }

  /** The epochs that are kept. */
  synchronized NavigableSet<Long> epochs() {
    return new TreeSet<>(kept.keySet());
  }

  /** The database is closed. */
  synchronized void clear() {
    kept.values().forEach(Moment::release);
    kept.clear();
  }
}
