package io.streamsql.serving;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/** One query's key lookups in one table: bytes in, bytes out, in one call. */
public final class KeyLookups implements PreparedQuery {
  private final Supplier<TableStore.Reading> store;
  private final UTF8String topic;
  private final UnaryOperator<Iterator<InternalRow>> program;
  private final int suffix;
  private final BooleanSupplier complete;

  KeyLookups(
      Supplier<TableStore.Reading> store,
      BooleanSupplier complete,
      UTF8String topic,
      UnaryOperator<Iterator<InternalRow>> program,
      int suffix) {
    this.store = store;
    this.complete = complete;
    this.topic = topic;
    this.program = program;
    this.suffix = suffix;
  }

  /**
   * The epoch of a view whose rows are read (long), -1 without one, and the program's results for
   * the rows of some keys, each after its length (int).
   *
   * @param packed the inclusive range of the keys' windows (longs, ignored without windows), then
   *     the keys without their windows, each after its length (int)
   */
  @Override
  public byte[] get(byte[] packed) throws RocksDBException {
    if (!complete.getAsBoolean()) {
      throw new IllegalStateException("the table is still being read");
    }
    return rehearse(packed);
  }

  /** As {@link #get}, over the current content; null while the table is still being read. */
  public byte[] rehearse(byte[] packed) throws RocksDBException {
    ByteBuffer in = ByteBuffer.wrap(packed);
    long low = in.getLong();
    long high = in.getLong();
    List<InternalRow> found = new ArrayList<>();
    long epoch;
    try (TableStore.Reading reading = store.get()) {
      epoch = reading.epoch();
      while (in.hasRemaining()) {
        byte[] key = new byte[in.getInt()];
        in.get(key);
        if (suffix > 0) {
          windows(reading, key, low, high, found);
          continue;
        }
        byte[] row = reading.get(key);
        if (row != null) {
          found.add(StoredRow.row(topic, key, row));
        }
      }
    }
    return results(epoch, found.iterator());
  }

  /**
   * The rows of all windows of a key: their keys begin with its bytes and are longer by a window.
   */
  private void windows(
      TableStore.Reading reading, byte[] key, long low, long high, List<InternalRow> found)
      throws RocksDBException {
    byte[] last = bounded(key, high);
    RocksIterator iterator = reading.iterator();
    for (iterator.seek(bounded(key, low)); iterator.isValid(); iterator.next()) {
      byte[] stored = iterator.key();
      int end = Math.min(stored.length, last.length);
      if (Arrays.compareUnsigned(stored, 0, end, last, 0, last.length) > 0) {
        break;
      }
      byte[] row = iterator.value();
      if (stored.length == key.length + suffix && !reading.expired(row)) {
        found.add(StoredRow.row(topic, stored, row));
      }
    }
    reading.check(iterator);
  }

  private static byte[] bounded(byte[] key, long bound) {
    return ByteBuffer.allocate(key.length + 8).put(key).putLong(bound).array();
  }

  private byte[] results(long epoch, Iterator<InternalRow> rows) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(ByteBuffer.allocate(8).putLong(epoch).array());
    for (Iterator<InternalRow> results = program.apply(rows); results.hasNext(); ) {
      ScannedRows.put(out, results.next().getBinary(0));
    }
    return out.toByteArray();
  }
}
