package io.streamsql.serving;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/** The results of a query over the rows of a table as it is at one moment, in pieces. */
public final class ScannedRows implements AutoCloseable {
  private static final int PIECE = 256 * 1024;

  private final TableStore.Reading reading;
  private final Iterator<InternalRow> results;

  ScannedRows(
      TableStore.Reading reading, UTF8String topic, CompiledPlan program, byte[] low, byte[] high) {
    this.reading = reading;
    try {
      this.results = program.run(new Stored(reading, topic, low, high));
    } catch (RuntimeException e) {
      reading.close();
      throw e;
    }
  }

  /** Some more results, each after its length (int); null if there are no more. */
  public synchronized byte[] next() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    while (out.size() < PIECE && results.hasNext()) {
      put(out, results.next().getBinary(0));
    }
    if (out.size() == 0) {
      reading.close();
      return null;
    }
    return out.toByteArray();
  }

  @Override
  public synchronized void close() {
    reading.close();
  }

  static void put(ByteArrayOutputStream out, byte[] bytes) {
    out.writeBytes(ByteBuffer.allocate(4).putInt(bytes.length).array());
    out.writeBytes(bytes);
  }

  /** The table's rows between two keys. */
  private static final class Stored implements Iterator<InternalRow> {
    private final TableStore.Reading reading;
    private final UTF8String topic;
    private final RocksIterator rows;
    private final byte[] high;

    Stored(TableStore.Reading reading, UTF8String topic, byte[] low, byte[] high) {
      this.reading = reading;
      this.topic = topic;
      this.high = high;
      this.rows = reading.iterator();
      if (low == null) {
        rows.seekToFirst();
      } else {
        rows.seek(low);
      }
    }

    @Override
    public boolean hasNext() {
      while (rows.isValid() && reading.expired(rows.value())) {
        rows.next();
      }
      if (!rows.isValid()) {
        check();
        return false;
      }
      return high == null || Arrays.compareUnsigned(rows.key(), high) <= 0;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      InternalRow row = StoredRow.row(topic, rows.key(), rows.value());
      rows.next();
      return row;
    }

    private void check() {
      try {
        reading.check(rows);
      } catch (RocksDBException e) {
        throw new IllegalStateException("the table's store cannot be read: " + e.getMessage(), e);
      }
    }
  }
}
