package io.streamsql.operators;

import java.nio.ByteBuffer;

/** A row and its time, as state holds them: 8 bytes of time, then the packed row. */
public final class TimedRow {
  public final long time;
  public final byte[] row;

  TimedRow(long time, byte[] row) {
    this.time = time;
    this.row = row;
  }

  static TimedRow of(byte[] bytes) {
    if (bytes == null) {
      return null;
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    long time = buffer.getLong();
    byte[] row = new byte[buffer.remaining()];
    buffer.get(row);
    return new TimedRow(time, row);
  }

  byte[] bytes() {
    return ByteBuffer.allocate(Long.BYTES + row.length).putLong(time).put(row).array();
  }
}
