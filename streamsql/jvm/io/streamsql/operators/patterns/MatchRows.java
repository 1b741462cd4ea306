package io.streamsql.operators.patterns;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;

/**
 * The rows of a key that a match may still need, by ascending numbers: in chunks, which are read on
 * access. A row is its time, its length and its bytes.
 */
final class MatchRows {
  private static final int FULL = 4096;
  private static final int HEAD = Long.BYTES + Integer.BYTES;

  private static final class Entry {
    final long time;
    final byte[] values;

    Entry(long time, byte[] values) {
      this.time = time;
      this.values = values;
    }
  }

  private static final class Chunk {
    final int number;
    final long first; // the number of its first row
    int count;
    int size; // in bytes; known once it is read
    List<Entry> entries; // null: not read
    boolean changed;

    Chunk(int number, long first) {
      this.number = number;
      this.first = first;
    }
  }

  private final MapState<Integer, byte[]> state;
  private final List<Chunk> chunks = new ArrayList<>();
  private long end;
  private int next; // the number of the next chunk

  MatchRows(StatefulProcessorHandle handle) {
    this.state = handle.getMapState("rows", Encoders.INT(), Encoders.BINARY(), TTLConfig.NONE());
  }

  /** A key without rows. */
  void clear() {
    chunks.clear();
    end = 0;
    next = 0;
  }

  /** The next key's rows. */
  void load(ByteBuffer in) {
    clear();
    int number = in.getInt();
    long first = in.getLong();
    for (int count = in.getInt(); count > 0; count--) {
      Chunk chunk = new Chunk(number++, first);
      chunk.count = in.getInt();
      first += chunk.count;
      chunks.add(chunk);
    }
    end = first;
    next = number;
  }

  /** The number of bytes that {@link #store} takes. */
  int size() {
    return Long.BYTES + (2 + chunks.size()) * Integer.BYTES;
  }

  /** Ends the key's batch. */
  void store(ByteBuffer out) {
    out.putInt(chunks.isEmpty() ? next : chunks.get(0).number);
    out.putLong(first()).putInt(chunks.size());
    for (Chunk chunk : chunks) {
      out.putInt(chunk.count);
      if (chunk.changed) {
        write(chunk);
      }
    }
  }

  private void write(Chunk chunk) {
    ByteBuffer bytes = ByteBuffer.allocate(chunk.size);
    for (Entry entry : chunk.entries) {
      bytes.putLong(entry.time).putInt(entry.values.length).put(entry.values);
    }
    state.updateValue(chunk.number, bytes.array());
    chunk.changed = false;
  }

  /** The number of the first remaining row. */
  long first() {
    return chunks.isEmpty() ? end : chunks.get(0).first;
  }

  /** The number of the next row. */
  long end() {
    return end;
  }

  void add(long time, byte[] values) {
    Chunk last = chunks.isEmpty() ? null : chunks.get(chunks.size() - 1);
    if (last == null || read(last).size >= FULL) {
      last = new Chunk(next++, end);
      last.entries = new ArrayList<>();
      chunks.add(last);
    }
    last.entries.add(new Entry(time, values));
    last.size += HEAD + values.length;
    last.count++;
    last.changed = true;
    end++;
  }

  long time(long row) {
    return entry(row).time;
  }

  byte[] values(long row) {
    return entry(row).values;
  }

  private Entry entry(long row) {
    int low = 0;
    int high = chunks.size() - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (chunks.get(middle).first <= row) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    Chunk chunk = chunks.get(low);
    return read(chunk).entries.get((int) (row - chunk.first));
  }

  private Chunk read(Chunk chunk) {
    if (chunk.entries == null) {
      chunk.entries = new ArrayList<>();
      ByteBuffer in = ByteBuffer.wrap(state.getValue(chunk.number));
      chunk.size = in.limit();
      while (in.hasRemaining()) {
        long time = in.getLong();
        byte[] values = new byte[in.getInt()];
        in.get(values);
        chunk.entries.add(new Entry(time, values));
      }
    }
    return chunk;
  }

  /** Releases rows before that number. */
  void keep(long row) {
    int gone = 0;
    while (gone < chunks.size() && chunks.get(gone).first + chunks.get(gone).count <= row) {
      state.removeKey(chunks.get(gone++).number);
    }
    chunks.subList(0, gone).clear();
  }
}
