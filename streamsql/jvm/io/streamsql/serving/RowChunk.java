package io.streamsql.serving;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/**
 * Consecutive rows of a table in memory, with their records' keys. Rows are appended, and marked as
 * deleted when their key is replaced; none is changed or moved.
 */
final class RowChunk {
  /** A row's number in its chunk has 16 bits. */
  static final int MOST_ROWS = 1 << 16;

  private static final int LARGEST = 64 << 20;

  private final int fields;
  private byte[] rows = new byte[1 << 16];
  private byte[] keys = new byte[1 << 12];
  private int[] rowEnds = new int[256];
  private int[] keyEnds = new int[256];
  private long[] times = new long[256];
  private long[] gone = new long[4];
  private int size;
  private int live;

  /**
   * @param fields the number of a row's columns
   */
  RowChunk(int fields) {
    this.fields = fields;
  }

  int size() {
    return size;
  }

  /** The number of rows that are not deleted. */
  int live() {
    return live;
  }

  /** Whether the chunk is full. */
  boolean full() {
    return size == MOST_ROWS || rowEnd(size - 1) > LARGEST;
  }

  /** The bytes that it takes. */
  long bytes() {
    return rows.length + keys.length + 4L * (rowEnds.length + keyEnds.length) + 8L * times.length;
  }

  /**
   * Adds a row; returns its number.
   *
   * @param time of the record, in ms
   */
  int add(byte[] key, int keyStart, int keyLength, UnsafeRow row, long time) {
    int rowStart = rowEnd(size - 1);
    int rowLength = row.getSizeInBytes();
    rows = room(rows, rowStart + rowLength);
    row.writeToMemory(rows, Platform.BYTE_ARRAY_OFFSET + rowStart);
    int start = keyEnd(size - 1);
    keys = room(keys, start + keyLength);
    System.arraycopy(key, keyStart, keys, start, keyLength);
    if (size == rowEnds.length) {
      resize(Math.min(2 * size, MOST_ROWS));
    }
    rowEnds[size] = rowStart + rowLength;
    keyEnds[size] = start + keyLength;
    times[size] = time;
    live++;
    return size++;
  }

  /** Adds a row of another chunk; returns its number. */
  int add(RowChunk other, int row, UnsafeRow pointer) {
    other.point(pointer, row);
    int start = other.keyEnd(row - 1);
    return add(other.keys, start, other.keyEnds[row] - start, pointer, other.times[row]);
  }

  /** Trims the unused space. */
  void trim() {
    rows = Arrays.copyOf(rows, rowEnd(size - 1));
    keys = Arrays.copyOf(keys, keyEnd(size - 1));
    resize(size);
  }

  private void resize(int length) {
    rowEnds = Arrays.copyOf(rowEnds, length);
    keyEnds = Arrays.copyOf(keyEnds, length);
    times = Arrays.copyOf(times, length);
    gone = Arrays.copyOf(gone, (length + 63) / 64);
  }

  private static byte[] room(byte[] array, int length) {
    return length <= array.length
        ? array
        : Arrays.copyOf(array, Math.max(length, array.length + array.length / 2));
  }

  private int rowEnd(int row) {
    return row < 0 ? 0 : rowEnds[row];
  }

  private int keyEnd(int row) {
    return row < 0 ? 0 : keyEnds[row];
  }

  void remove(int row) {
    gone[row >> 6] |= 1L << row;
    live--;
  }

  /** A copy of the bits that mark deleted rows. */
  long[] gone() {
    return gone.clone();
  }

  static boolean isGone(long[] gone, int row) {
    return (gone[row >> 6] & 1L << row) != 0;
  }

  boolean isGone(int row) {
    return isGone(gone, row);
  }

  long time(int row) {
    return times[row];
  }

  boolean hasKey(int row, byte[] key) {
    return Arrays.equals(keys, keyEnd(row - 1), keyEnds[row], key, 0, key.length);
  }

  /** The hash of a row's key, as {@link KeyIndex} uses it. */
  int hash(int row) {
    int start = keyEnd(row - 1);
    return KeyIndex.hash(keys, start, keyEnds[row] - start);
  }

  /** Points an object to a row. */
  void point(UnsafeRow pointer, int row) {
    int start = rowEnd(row - 1);
    pointer.pointTo(rows, Platform.BYTE_ARRAY_OFFSET + start, rowEnds[row] - start);
  }

  UnsafeRow pointer() {
    return new UnsafeRow(fields);
  }
}
