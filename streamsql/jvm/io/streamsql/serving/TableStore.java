package io.streamsql.serving;

import io.streamsql.epochs.EpochMarks;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.StampedLock;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Status;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * The latest record of each key of one topic, on disk: a copy that can be rebuilt at any time.
 *
 * <p>The read position is written with the rows, in one batch, so that both are always consistent.
 * A store that cannot be opened starts empty. One thread writes; any thread may read and close: the
 * database is shut down when its last user leaves.
 */
final class TableStore implements AutoCloseable {
  /** The version of the layout; a store of another version starts empty. */
  private static final String VERSION = "1 ";

  private static final byte[] IDENTITY = bytes("identity");
  private static final byte[] TIME = bytes("time");
  private static final String POSITION = "position ";
  private static final int CLOSE_SECONDS = 5;

  static {
    RocksDB.loadLibrary();
  }

  /** Disk space for a database to be opened. */
  private static final long LEAST_SPACE = 1L << 20;

  private final Path folder;
  private final long retentionMs;

  /** Held while the rows go from one epoch to the next. */
  final Object moving = new Object();

  private final Moments moments;

  /** The epoch that the rows are of; -1: of none. */
  private volatile long epoch = -1;

  /** Held shared by users of the database, exclusively to open it or shut it down. */
  private final StampedLock lock = new StampedLock();

  private final WriteOptions unsynced = new WriteOptions();
  private StoreOptions options;
  private RocksDB db;
  private ColumnFamilyHandle rows;
  private ColumnFamilyHandle meta;
  private volatile long time = Long.MIN_VALUE;
  private volatile boolean damaged;
  private volatile boolean stuck;
  private volatile boolean closing;

  /**
   * @param retentionMs how long a row is kept relative to the newest one; negative: forever
   * @param historyMs how long the rows of past epochs are kept
   */
  TableStore(Path folder, long retentionMs, long historyMs) throws IOException, RocksDBException {
    this.moments = new Moments(historyMs);
    this.folder = folder;
    this.retentionMs = retentionMs;
    Files.createDirectories(folder);
    try {
      open();
    } catch (RocksDBException damaged) {
      clear();
      open();
    }
  }

  private void open() throws RocksDBException {
    options = new StoreOptions();
    List<ColumnFamilyDescriptor> families =
        List.of(
            new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, options.family),
            new ColumnFamilyDescriptor(bytes("meta"), options.family));
    List<ColumnFamilyHandle> handles = new ArrayList<>();
    db = RocksDB.open(options.database, folder.toString(), families, handles);
    rows = handles.get(0);
    meta = handles.get(1);
    byte[] known = db.get(meta, TIME);
    time = known == null ? Long.MIN_VALUE : ByteBuffer.wrap(known).getLong();
  }

  // -- reading ----------------------------------------------------------------------------------

  /** The approximate number of keys. */
  long estimatedRows() throws RocksDBException {
    try (Reading reading = read()) {
      return reading.estimatedRows();
    }
  }

  /**
   * A view for one read: of the newest epoch, unless the rows are between two. It keeps the store
   * open, so any thread must close it.
   */
  Reading read() {
    long stamp = use();
    long of = epoch;
    Moments.Moment moment = of < 0 ? null : moments.use(of);
    return new Reading(stamp, moment, moment == null ? -1 : of);
  }

  /** The same of the rows at the end of an epoch; null: they are not kept. */
  Reading read(long of) {
    long stamp = use();
    Moments.Moment moment = moments.use(of);
    if (moment == null) {
      release(stamp);
      return null;
    }
    return new Reading(stamp, moment, of);
  }

  /** The epochs whose rows are kept. */
  Moments moments() {
    return moments;
  }

  /** The epoch that the rows are of; -1: of none, or between two. Changed while moving. */
  long epoch() {
    return epoch;
  }

  /** The rows are those of an epoch now, or, with null, between two. */
  void at(EpochMarks.Mark mark) {
    if (mark == null) {
      epoch = -1;
      return;
    }
    long stamp = use();
    try {
      moments.add(mark, db);
    } finally {
      release(stamp);
    }
    epoch = mark.epoch();
  }

  final class Reading implements AutoCloseable {
    private final long stamp;
    private final Moments.Moment moment;
    private final long of;
    private final ReadOptions options;
    private final List<RocksIterator> open = new ArrayList<>();
    private boolean closed;

    private Reading(long stamp, Moments.Moment moment, long of) {
      this.of = of;
      this.stamp = stamp;
      this.moment = moment;
      options = moment == null ? new ReadOptions() : moment.options();
    }

    /** The epoch that the rows are of; -1: of none, or between two. */
    long epoch() {
      return of;
    }

    long estimatedRows() throws RocksDBException {
      return db.getLongProperty(rows, "rocksdb.estimate-num-keys");
    }

    /** The packed row ({@link StoredRow}) of exactly this key, or null. */
    byte[] get(byte[] key) throws RocksDBException {
      try {
        byte[] found = db.get(rows, options, key);
        return found == null || expired(found) ? null : found;
      } catch (RocksDBException e) {
        throw noted(e);
      }
    }

    /** After an iterator's last row: throws the error that ended it early. */
    void check(RocksIterator iterator) throws RocksDBException {
      try {
        iterator.status();
      } catch (RocksDBException e) {
        throw noted(e);
      }
    }

    /** An iterator over all keys, not yet positioned. */
    RocksIterator iterator() {
      RocksIterator iterator = db.newIterator(rows, options);
      open.add(iterator);
      return iterator;
    }

    boolean expired(byte[] row) {
      return TableStore.this.expired(row);
    }

    @Override
    public void close() {
      if (!closed) {
        closed = true;
        open.forEach(RocksIterator::close);
        options.close();
        if (moment != null) {
          moment.release();
        }
        release(stamp);
      }
    }
  }

  /** Keeps the database open until the stamp is released, by any thread. */
  private long use() {
    if (!closing) {
      long stamp = lock.readLock();
      if (!closing && db != null) {
        return stamp;
      }
      release(stamp);
    }
    throw new IllegalStateException("the store is closed");
  }

  private void release(long stamp) {
    lock.unlockRead(stamp);
    if (closing) {
      end(lock.tryWriteLock());
    }
  }

  /** Whether data is unreadable or was deleted: the store must start over. */
  boolean damaged() {
    return damaged || !Files.exists(folder.resolve("CURRENT"));
  }

  /** Whether a write has failed: the database accepts no other until it is opened again. */
  boolean stuck() {
    return stuck;
  }

  private RocksDBException noted(RocksDBException e) {
    if (e.getStatus() != null && e.getStatus().getCode() == Status.Code.Corruption) {
      damaged = true;
    }
    return e;
  }

  private boolean expired(byte[] row) {
    return StoredRow.timestamp(row) < expiry();
  }

  /** Hides rows of records that are older (ms). */
  long expiry() {
    return retentionMs < 0 || time == Long.MIN_VALUE ? Long.MIN_VALUE : time - retentionMs;
  }

  // -- writing ----------------------------------------------------------------------------------

  /** Writes records, in order, and the positions after them. */
  void apply(Iterable<ConsumerRecord<byte[], byte[]>> records, Map<Integer, Long> positions)
      throws RocksDBException {
    long stamp = use();
    try (WriteBatch batch = new WriteBatch()) {
      long newest = time;
      for (ConsumerRecord<byte[], byte[]> record : records) {
        if (record.key() == null) {
          continue;
        }
        if (record.value() == null) {
          batch.delete(rows, record.key());
        } else {
          batch.put(rows, record.key(), StoredRow.pack(record));
          newest = Math.max(newest, record.timestamp());
        }
      }
      for (Map.Entry<Integer, Long> position : positions.entrySet()) {
        batch.put(meta, bytes(POSITION + position.getKey()), number(position.getValue()));
      }
      batch.put(meta, TIME, number(newest));
      db.write(unsynced, batch);
      time = newest;
    } catch (RocksDBException e) {
      stuck = true;
      throw noted(e);
    } finally {
      release(stamp);
    }
  }

  /** The next offset of each partition. */
  Map<Integer, Long> positions() {
    Map<Integer, Long> found = new HashMap<>();
    long stamp = use();
    try (RocksIterator iterator = db.newIterator(meta)) {
      for (iterator.seek(bytes(POSITION)); iterator.isValid(); iterator.next()) {
        String name = new String(iterator.key(), StandardCharsets.UTF_8);
        if (!name.startsWith(POSITION)) {
          break;
        }
        int partition = Integer.parseInt(name.substring(POSITION.length()));
        found.put(partition, ByteBuffer.wrap(iterator.value()).getLong());
      }
    } finally {
      release(stamp);
    }
    return found;
  }

  /** Whether the rows are those of the topic of this identity. */
  boolean isOf(String identity) throws RocksDBException {
    long stamp = use();
    try {
      return Arrays.equals(db.get(meta, IDENTITY), bytes(VERSION + identity));
    } finally {
      release(stamp);
    }
  }

  /**
   * Empties the store, for the topic of this identity. Throws TimeoutException, without a change,
   * if it is still being read after that time. New readers wait meanwhile.
   */
  void reset(String identity, long timeoutMs)
      throws IOException, RocksDBException, InterruptedException, TimeoutException {
    shutAnd(
        timeoutMs,
        () -> {
          clear();
          open();
          damaged = false;
          db.put(meta, IDENTITY, bytes(VERSION + identity));
        });
  }

  /** Opens the database again, once there is space; until then it stays readable. */
  void reopen(long timeoutMs)
      throws IOException, RocksDBException, InterruptedException, TimeoutException {
    if (Files.getFileStore(folder).getUsableSpace() < LEAST_SPACE) {
      throw new IOException("No space left on device for the store " + folder);
    }
    shutAnd(timeoutMs, this::open);
  }

  private interface Opening {
    void run() throws IOException, RocksDBException;
  }

  private void shutAnd(long timeoutMs, Opening opening)
      throws IOException, RocksDBException, InterruptedException, TimeoutException {
    long stamp = lock.tryWriteLock(timeoutMs, TimeUnit.MILLISECONDS);
    if (stamp == 0) {
      throw new TimeoutException("the store restarts once it has no readers");
    }
    try {
      if (closing) {
        throw new IllegalStateException("the store is closed");
      }
      shut();
      opening.run();
      stuck = false;
    } finally {
      if (closing) {
        end(stamp);
      } else {
        lock.unlockWrite(stamp);
      }
    }
  }

  /** Deletes expired rows, which reads already skip. Stops early if the store is to be closed. */
  void removeExpired() throws RocksDBException {
    if (retentionMs < 0) {
      return;
    }
    long stamp = use();
    try (RocksIterator iterator = db.newIterator(rows)) {
      for (iterator.seekToFirst(); iterator.isValid() && !closing; iterator.next()) {
        if (expired(iterator.value())) {
          db.delete(rows, unsynced, iterator.key());
        }
      }
      iterator.status();
    } finally {
      release(stamp);
    }
  }

  /** Waits a moment for users; the last of those that take longer shuts it down. */
  @Override
  public void close() {
    closing = true;
    long stamp = 0;
    try {
      stamp = lock.tryWriteLock(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    end(stamp);
  }

  /** Shuts the database down for good, unless the stamp says that it is still in use. */
  private void end(long stamp) {
    if (stamp == 0) {
      return;
    }
    try {
      shut();
      unsynced.close();
    } finally {
      lock.unlockWrite(stamp);
    }
  }

  private void shut() {
    if (db == null) {
      return;
    }
    moments.clear();
    epoch = -1;
    rows.close();
    meta.close();
    db.close();
    options.close();
    db = null;
  }

  /** Empties the folder. */
  private void clear() throws IOException {
    if (Files.exists(folder)) {
      try (Stream<Path> paths = Files.walk(folder)) {
        for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(path);
        }
      }
    }
    Files.createDirectories(folder);
  }

  private static byte[] number(long value) {
    return ByteBuffer.allocate(8).putLong(value).array();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
