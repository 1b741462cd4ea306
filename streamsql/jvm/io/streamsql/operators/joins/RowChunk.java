package io.streamsql.operators.joins;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Some rows of one side and bucket of a stream-stream join, as state holds them: the number of the
 * bucket's chunks (in its first one only), then for each row its time, whether it still waits for a
 * partner, its length and its bytes.
 */
final class RowChunk {
  private static final int HEAD = Integer.BYTES;
  private static final int WAITS = Long.BYTES;
  private static final int LENGTH = WAITS + 1;
  private static final int ROW = LENGTH + Integer.BYTES;
  private static final int FULL = 4096;
  private byte[] bytes;
  private int size;
  private boolean changed;

  /** A new one. */
  RowChunk() {
    bytes = new byte[256];
    size = HEAD;
    setChunks(1);
  }

  RowChunk(byte[] stored) {
    bytes = stored;
    size = stored.length;
  }

  int chunks() {
    return buffer().getInt(0);
  }

  void setChunks(int count) {
    buffer().putInt(0, count);
    changed = true;
  }

  boolean isFull() {
    return size >= FULL;
  }

  boolean isChanged() {
    return changed;
  }

  /** The chunk as state holds it. */
  byte[] stored() {
    changed = false;
    return Arrays.copyOf(bytes, size);
  }

  void add(long time, boolean waits, byte[] row) {
    int needed = size + ROW + row.length;
    if (needed > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(needed, 2 * bytes.length));
    }
    buffer().position(size).putLong(time).put((byte) (waits ? 1 : 0)).putInt(row.length).put(row);
    size = needed;
    changed = true;
  }

  /** Rows are addressed by position: the first one's, and the one after each; -1: none. */
  int first() {
    return size > HEAD ? HEAD : -1;
  }

  int next(int place) {
    int next = place + ROW + buffer().getInt(place + LENGTH);
    return next < size ? next : -1;
  }

  long time(int place) {
    return buffer().getLong(place);
  }

  boolean waits(int place) {
    return bytes[place + WAITS] == 1;
  }

  void stopWaiting(int place) {
    bytes[place + WAITS] = 0;
    changed = true;
  }

  byte[] row(int place) {
    int start = place + ROW;
    return Arrays.copyOfRange(bytes, start, start + buffer().getInt(place + LENGTH));
  }

  private ByteBuffer buffer() {
    return ByteBuffer.wrap(bytes);
  }
}
