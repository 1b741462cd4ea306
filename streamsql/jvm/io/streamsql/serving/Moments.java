package io.streamsql.serving;

import io.streamsql.epochs.EpochMarks;
import java.util.TreeMap;
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
    private final long began;
    private final long added;
    private int users = 1;

    private Moment(RocksDB db, long began, long added) {
      this.db = db;
      this.snapshot = db.getSnapshot();
      this.began = began;
      this.added = added;
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
  synchronized void add(EpochMarks.Mark mark, RocksDB db) {
    long now = System.currentTimeMillis();
    Moment before = kept.put(mark.epoch(), new Moment(db, mark.time(), now));
    if (before != null) {
      before.release();
    }
    // The rows are those of an epoch until the next one.
    while (kept.size() > 1
        && kept.higherEntry(kept.firstKey()).getValue().added < now - historyMs) {
      kept.pollFirstEntry().getValue().release();
    }
  }

  /** The moment of an epoch, to be released; null: it is not kept. */
  synchronized Moment use(long epoch) {
    Moment found = kept.get(epoch);
    return found != null && found.use() ? found : null;
  }

  /** The newest epoch that is kept, not after this one; null: none. */
  synchronized Long floor(long epoch) {
    return kept.floorKey(epoch);
  }

  /** The oldest epoch that is kept, not before this one; null: none. */
  synchronized Long ceiling(long epoch) {
    return kept.ceilingKey(epoch);
  }

  /** When an epoch that is kept began, in ms; null: it is not kept. */
  synchronized Long began(long epoch) {
    Moment found = kept.get(epoch);
    return found == null ? null : found.began;
  }

  /** The database is closed. */
  synchronized void clear() {
    kept.values().forEach(Moment::release);
    kept.clear();
  }
}
