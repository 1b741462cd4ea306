package io.streamsql.serving;

import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/** A table's records between two keys, as rows of Spark's Kafka source. */
final class StoredRows implements Iterator<InternalRow> {
  private final TableStore.Reading reading;
  private final UTF8String topic;
  private final RocksIterator rows;
  private final byte[] high;

  /**
   * @param low the first key, null: that of the table
   * @param high the last key, null: that of the table
   */
  StoredRows(TableStore.Reading reading, UTF8String topic, byte[] low, byte[] high) {
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
