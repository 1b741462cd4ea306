package io.streamsql.operators.aggregates;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;

/**
 * The rows of a key that frames still need, in order. They are kept in chunks, so that adding or
 * removing rows touches few of them. A row is its time, its length and its bytes.
 */
final class FrameRows {
  private static final int FULL = 4096;
  private static final int HEAD = Long.BYTES + Integer.BYTES;

  private static final class Row {
    final long time;
    final byte[] values;

    Row(long time, byte[] values) {
      this.time = time;
      this.values = values;
    }
  }

  private final MapState<Integer, byte[]> state;
  private final List<Row> rows = new ArrayList<>();
  private final Deque<Integer> chunks = new ArrayDeque<>(); // the number of rows in each chunk
  private int first; // the number of the first chunk
  private int needed; // the index of the first remaining row
  private boolean full; // whether the last chunk is full

  FrameRows(StatefulProcessorHandle handle) {
    this.state = handle.getMapState("rows", Encoders.INT(), Encoders.BINARY(), TTLConfig.NONE());
  }

  /** The next key's rows, which are in the chunks from the first number up to before the second. */
  void load(int firstChunk, int nextChunk) {
    rows.clear();
    chunks.clear();
    needed = 0;
    first = firstChunk;
    for (int number = firstChunk; number < nextChunk; number++) {
      ByteBuffer in = ByteBuffer.wrap(state.getValue(number));
      int before = rows.size();
      full = in.limit() >= FULL;
      while (in.hasRemaining()) {
        long time = in.getLong();
        byte[] values = new byte[in.getInt()];
        in.get(values);
        rows.add(new Row(time, values));
      }
      chunks.addLast(rows.size() - before);
    }
  }

  int firstChunk() {
    return first;
  }

  int nextChunk() {
    return first + chunks.size();
  }

  int size() {
    return rows.size();
  }

  long time(int place) {
    return rows.get(place).time;
  }

  byte[] values(int place) {
    return rows.get(place).values;
  }

  /** The row that many rows before the last one; null: there is none. */
  byte[] before(int distance) {
    int place = rows.size() - 1 - distance;
    return place < needed ? null : rows.get(place).values;
  }

  void add(long time, byte[] values) {
    rows.add(new Row(time, values));
  }

  /** Releases all rows but the last ones that are also from before that time. */
  void keep(int last, long time) {
    while (needed < rows.size() - last && rows.get(needed).time < time) {
      needed++;
    }
  }

  /** Ends the key's batch. */
  void store() {
    while (!chunks.isEmpty() && chunks.peekFirst() <= needed) {
      state.removeKey(first++);
      forget(chunks.removeFirst());
    }
    int stored = chunks.stream().mapToInt(Integer::intValue).sum();
    if (stored == rows.size()) {
      return;
    }
    if (!chunks.isEmpty() && !full) {
      stored -= chunks.removeLast(); // it has room
    }
    if (chunks.isEmpty()) {
      forget(needed);
      stored = 0;
    }
    while (stored < rows.size()) {
      stored += storeChunk(stored);
    }
  }

  private int storeChunk(int from) {
    int size = 0;
    int to = from;
    while (to < rows.size() && size < FULL) {
      size += HEAD + rows.get(to++).values.length;
    }
    ByteBuffer out = ByteBuffer.allocate(size);
    for (Row row : rows.subList(from, to)) {
      out.putLong(row.time).putInt(row.values.length).put(row.values);
    }
    state.updateValue(nextChunk(), out.array());
    chunks.addLast(to - from);
    full = size >= FULL;
    return to - from;
  }

  private void forget(int count) {
    rows.subList(0, count).clear();
    needed -= count;
  }

  /** Deletes the key's state. */
  void clear() {
    while (!chunks.isEmpty()) {
      chunks.removeFirst();
      state.removeKey(first++);
    }
    rows.clear();
    needed = 0;
  }
}
