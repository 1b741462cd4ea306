package io.streamsql.serving;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/**
 * The rows of a table as a reader decodes its records. The first query reads them into memory,
 * where they follow the store while they are used and fit into {@link RowMemory}; otherwise each
 * query decodes the store's records.
 */
final class TableRows {
  /** The number of changes that are applied at once, unless a query comes earlier. */
  private static final int MANY = 4096;

  private static final int LOOK = 1 << 14;
  private static final long UNUSED_MS = 600_000;

  private final TableStore store;
  private final UTF8String topic;
  private final CompiledPlan reader;
  private final RowMemory memory;
  private final BooleanSupplier hasEpochs;

  /** Guards building, changing and snapshots of the rows in memory. */
  private final ReentrantLock lock = new ReentrantLock();

  /** Null: they are not in memory. */
  private volatile HeldRows held;

  /** Set to evict the rows, those that are being read included. */
  private volatile boolean evicted;

  private volatile long lastUsed;

  /** The number of rows that did not fit; -1: not tried, or some fit. */
  private long refused = -1;

  /** The newest value (null: none) of each changed key; null: changes are not needed. */
  private Map<Key, byte[]> changed;

  private final Object changes = new Object();

  TableRows(
      TableStore store,
      UTF8String topic,
      CompiledPlan reader,
      RowMemory memory,
      BooleanSupplier hasEpochs) {
    this.hasEpochs = hasEpochs;
    this.store = store;
    this.topic = topic;
    this.reader = reader;
    this.memory = memory;
  }

  /** Whether the table is a view that goes through epochs. */
  boolean hasEpochs() {
    return hasEpochs.getAsBoolean();
  }

  boolean isOf(CompiledPlan plan) {
    return reader == plan;
  }

  // -- reading ----------------------------------------------------------------------------------

  /** A query's view; to be closed. */
  Reading read() throws RocksDBException {
    lastUsed = System.currentTimeMillis();
    memory.touch(this);
    lock.lock();
    try {
      if (held == null && hasRoom()) {
        build();
      }
      HeldRows rows = held;
      if (rows != null && update(rows)) {
        return new Reading(rows.snapshot(store.expiry()), null);
      }
    } finally {
      lock.unlock();
    }
    return stored(store.read());
  }

  /** The same of the rows at the end of an epoch; null: they are not kept. */
  Reading read(long epoch) throws RocksDBException {
    lastUsed = System.currentTimeMillis();
    memory.touch(this);
    lock.lock();
    try {
      if (held == null && hasRoom()) {
        build();
      }
      synchronized (store.moving) {
        HeldRows rows = held;
        if (rows != null && store.epoch() == epoch && update(rows)) {
          return new Reading(rows.snapshot(store.expiry()), null);
        }
      }
    } finally {
      lock.unlock();
    }
    TableStore.Reading reading = store.read(epoch);
    return reading == null ? null : stored(reading);
  }

  private Reading stored(TableStore.Reading reading) {
    return new Reading(() -> reader.apply(new StoredRows(reading, topic, null, null)), reading);
  }

  /** The rows as they are at one moment. */
  static final class Reading implements AutoCloseable {
    private final Iterable<InternalRow> rows;
    private final TableStore.Reading stored;

    Reading(Iterable<InternalRow> rows, TableStore.Reading stored) {
      this.rows = rows;
      this.stored = stored;
    }

    Iterable<InternalRow> rows() {
      return rows;
    }

    @Override
    public void close() {
      if (stored != null) {
        stored.close();
      }
    }
  }

  // -- filling ----------------------------------------------------------------------------------

  /** Whether to try to hold the rows: after a failure, once the table has become smaller. */
  private boolean hasRoom() throws RocksDBException {
    if (memory.limit() == 0) {
      return false;
    }
    return refused < 0 || rowsInStore() < refused / 2;
  }

  private long rowsInStore() throws RocksDBException {
    try (TableStore.Reading reading = store.read()) {
      return reading.estimatedRows();
    }
  }

  private void build() throws RocksDBException {
    TableStore.Reading beginning;
    synchronized (store.moving) {
      synchronized (changes) {
        evicted = false;
        // Later changes follow what is read below, or equal it.
        changed = new LinkedHashMap<>();
      }
      TableStore.Reading ofEpoch = store.read(store.epoch());
      beginning = ofEpoch == null ? store.read() : ofEpoch;
    }
    HeldRows rows = new HeldRows();
    boolean fits = false;
    try (TableStore.Reading reading = beginning) {
      long expected = reading.estimatedRows();
      RocksIterator all = reading.iterator();
      all.seekToFirst();
      fits = fill(rows, new Everything(all, reading), expected);
      reading.check(all);
      refused = fits || evicted ? -1 : expected;
    } finally {
      if (!fits) {
        evict();
      }
    }
    rows.seal();
    synchronized (changes) {
      if (!evicted) {
        held = rows;
      }
    }
  }

  /** Adds a table's records; false: there is no room for them. */
  private boolean fill(HeldRows rows, Iterator<Change> records, long expected) {
    Answered answered = new Answered(records, rows);
    Iterator<InternalRow> made = reader.apply(answered);
    for (long count = 1; made.hasNext(); count++) {
      answered.put((UnsafeRow) made.next());
      if (count % LOOK == 0) {
        long bytes = rows.bytes();
        boolean early = count * 10 < expected;
        long all = early ? 0 : (long) ((double) bytes / count * Math.max(expected, count));
        if (evicted || all > memory.limit() || !memory.take(this, bytes)) {
          return false;
        }
      }
    }
    answered.end();
    return !evicted && memory.take(this, rows.bytes());
  }

  /** Applies the store's changes to the rows; false: they have just been evicted. */
  private boolean update(HeldRows rows) {
    Map<Key, byte[]> taken;
    synchronized (changes) {
      if (changed == null) {
        return false;
      }
      taken = changed;
      changed = new LinkedHashMap<>();
    }
    try {
      take(rows, taken);
    } catch (RuntimeException | Error e) {
      drop(); // some of it may be missing
      throw e;
    }
    if (!taken.isEmpty() && !memory.take(this, rows.bytes())) {
      refused = rows.size();
      evict();
    }
    return true;
  }

  private void take(HeldRows rows, Map<Key, byte[]> taken) {
    List<Change> puts = new ArrayList<>();
    taken.forEach(
        (key, value) -> {
          if (value == null) {
            rows.remove(key.bytes);
          } else {
            puts.add(new Change(key.bytes, value));
          }
        });
    Answered answered = new Answered(puts.iterator(), rows);
    for (Iterator<InternalRow> made = reader.apply(answered); made.hasNext(); ) {
      answered.put((UnsafeRow) made.next());
    }
    answered.end();
    rows.seal();
  }

  // -- called by other threads --------------------------------------------------------------------

  /** Called when records have been written to the store. */
  void changed(Iterable<ConsumerRecord<byte[], byte[]>> records) {
    int waiting;
    synchronized (changes) {
      if (changed == null) {
        return;
      }
      for (ConsumerRecord<byte[], byte[]> record : records) {
        if (record.key() != null) {
          byte[] row = record.value() == null ? null : StoredRow.pack(record);
          changed.put(new Key(record.key()), row);
        }
      }
      waiting = changed.size();
    }
    if (waiting >= MANY && lock.tryLock()) {
      try {
        HeldRows rows = held;
        if (rows != null) {
          update(rows);
        }
      } catch (RuntimeException e) {
        // They were evicted; the next query reads them again, and reports a failure.
      } finally {
        lock.unlock();
      }
    }
  }

  /** Evicts rows that have not been used for a while, and removes expired ones. */
  void tidy() {
    if (held == null || !lock.tryLock()) {
      return;
    }
    try {
      HeldRows rows = held;
      if (rows != null && System.currentTimeMillis() - lastUsed > UNUSED_MS) {
        drop();
      } else if (rows != null && store.expiry() > Long.MIN_VALUE) {
        rows.removeBefore(store.expiry());
      }
    } finally {
      lock.unlock();
    }
  }

  /** Evicts the rows in memory; rows that queries are reading stay until they are read. */
  void drop() {
    evict();
    memory.free(this);
  }

  /** As {@link #drop}, called by the memory's accounting. */
  void evict() {
    synchronized (changes) {
      evicted = true;
      held = null;
      changed = null;
    }
  }

  /** A record's key, and its current packed row ({@link StoredRow}). */
  private static final class Change {
    private final byte[] key;
    private final byte[] row;

    Change(byte[] key, byte[] row) {
      this.key = key;
      this.row = row;
    }
  }

  private static final class Key {
    private final byte[] bytes;

    Key(byte[] bytes) {
      this.bytes = bytes;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Key key && Arrays.equals(bytes, key.bytes);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(bytes);
    }
  }

  /** All rows of a store, without those that have expired. */
  private static final class Everything implements Iterator<Change> {
    private final RocksIterator all;
    private final TableStore.Reading reading;

    Everything(RocksIterator all, TableStore.Reading reading) {
      this.all = all;
      this.reading = reading;
    }

    @Override
    public boolean hasNext() {
      while (all.isValid() && reading.expired(all.value())) {
        all.next();
      }
      return all.isValid();
    }

    @Override
    public Change next() {
      Change found = new Change(all.key(), all.value());
      all.next();
      return found;
    }
  }

  /**
   * Tracks records through the reader, to map its rows to keys. A record that gives no row, since
   * it cannot be read, leaves its key without a row.
   */
  private final class Answered implements Iterator<InternalRow> {
    private final Iterator<Change> records;
    private final HeldRows rows;
    private final Deque<Change> asked = new ArrayDeque<>();

    Answered(Iterator<Change> records, HeldRows rows) {
      this.records = records;
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      return records.hasNext();
    }

    @Override
    public InternalRow next() {
      Change next = records.next();
      asked.add(next);
      return StoredRow.row(topic, next.key, next.row);
    }

    /** The reader's next row: its last columns are the partition and offset of its record. */
    void put(UnsafeRow row) {
      int partition = row.getInt(row.numFields() - 2);
      long offset = row.getLong(row.numFields() - 1);
      for (Change record = asked.poll(); record != null; record = asked.poll()) {
        if (StoredRow.offset(record.row) == offset
            && StoredRow.partition(record.row) == partition) {
          rows.put(record.key, row, StoredRow.timestamp(record.row));
          return;
        }
        rows.remove(record.key);
      }
      throw new IllegalStateException("a row of no record");
    }

    void end() {
      asked.forEach(record -> rows.remove(record.key));
    }
  }
}
