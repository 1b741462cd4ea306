package io.streamsql.serving;

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
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Status;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * The latest record of each key of one topic, on disk: a copy that can be made again at any time.
 *
 * <p>How far the topic has been read is written with the rows, in one batch, so that both are
 * always of the same moment. A store that cannot be opened begins anew, empty. Written by one
 * thread, read and closed by any: the database is shut when nobody uses it any more.
 */
final class TableStore implements AutoCloseable {
  /** Another layout of what is stored needs another number: an older store then begins anew. */
  private static final String VERSION = "1 ";

  private static final byte[] IDENTITY = bytes("identity");
  private static final byte[] TIME = bytes("time");
  private static final String POSITION = "position ";
  private static final int CLOSE_SECONDS = 5;

  static {
    RocksDB.loadLibrary();
  }

  /** Of the disk, for a database to be opened. */
  private static final long LEAST_SPACE = 1L << 20;

  private final Path folder;
  private final long retentionMs;

  /** Held in common by all that use the database, alone by what opens or shuts it. */
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
   * @param retentionMs how long a row outlives the newest one; negative: for ever
   */
  TableStore(Path folder, long retentionMs) throws IOException, RocksDBException {
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

  /** About how many keys there are. */
  long estimatedRows() throws RocksDBException {
    try (Reading reading = read()) {
      return reading.estimatedRows();
    }
  }

  /** What a read sees. It keeps the store open, so it must be closed, by whatever thread. */
  Reading read() {
    return new Reading(use());
  }

  final class Reading implements AutoCloseable {
    private final long stamp;
    private final List<RocksIterator> open = new ArrayList<>();
    private boolean closed;

    private Reading(long stamp) {
      this.stamp = stamp;
    }

    long estimatedRows() throws RocksDBException {
      return db.getLongProperty(rows, "rocksdb.estimate-num-keys");
    }

    /** The packed row ({@link StoredRow}) of exactly this key, or null. */
    byte[] get(byte[] key) throws RocksDBException {
      try {
        byte[] found = db.get(rows, key);
        return found == null || expired(found) ? null : found;
      } catch (RocksDBException e) {
        throw noted(e);
      }
    }

    /** After an iterator's last row: raises what has ended it too early. */
    void check(RocksIterator iterator) throws RocksDBException {
      try {
        iterator.status();
      } catch (RocksDBException e) {
        throw noted(e);
      }
    }

    /** An iterator over all keys, not yet placed. */
    RocksIterator iterator() {
      RocksIterator iterator = db.newIterator(rows);
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
        release(stamp);
      }
    }
  }

  /** Keeps the database open until the stamp is released, by whatever thread. */
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

  /** Whether what was written cannot be read, or was deleted: the store must begin anew. */
  boolean damaged() {
    return damaged || !Files.exists(folder.resolve("CURRENT"));
  }

  /** Whether a write has failed: the database takes no other until it was opened again. */
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

  /** Rows of records that are older (ms) are not there any more. */
  long expiry() {
    return retentionMs < 0 || time == Long.MIN_VALUE ? Long.MIN_VALUE : time - retentionMs;
  }

  // -- writing ----------------------------------------------------------------------------------

  /** Takes over records, in their order, and the positions they lead to. */
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

  /** Where each partition is to be read on. */
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
   * Begins anew, empty, as the store of the topic of this identity; TimeoutException, and nothing
   * has changed, where it is still being read after that time. Who begins to read waits meanwhile.
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

  /** Opens the database again, once there is space; until then it is read as it is. */
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

  /**
   * Removes what has outlived the topic's retention: reads do not see it any more anyway. Stops
   * early where the store is to be closed.
   */
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

  /** Waits a moment for those that use it; the last of those that take longer shuts it. */
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

  /** Shuts the database for good, unless the stamp says that it is still in use. */
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
    rows.close();
    meta.close();
    db.close();
    options.close();
    db = null;
  }

  /** Leaves the folder there, with nothing in it. */
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
