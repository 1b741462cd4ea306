package io.streamsql.serving;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.IntPredicate;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The latest row of each key of a table, in memory. A new row is appended and the previous one
 * marked as deleted, so that readers are not disturbed; sparse chunks are merged. Used by one
 * thread at a time, except for the rows of a snapshot.
 */
final class HeldRows {
  private static final int SMALL = RowChunk.MOST_ROWS / 2;

  /** The number of sparse chunks that triggers a merge. */
  private static final int MOST_SMALL = 8;

  private final List<RowChunk> chunks = new ArrayList<>();
  private final KeyIndex index = new KeyIndex();

  /** The number of the chunk that takes rows, or -1. */
  private int open = -1;

  long bytes() {
    return index.bytes() + chunks.stream().mapToLong(c -> c == null ? 0 : c.bytes()).sum();
  }

  /** The number of rows. */
  long size() {
    return chunks.stream().mapToLong(c -> c == null ? 0 : c.live()).sum();
  }

  /**
   * Replaces the row of a key.
   *
   * @param time of its record, in ms
   */
  void put(byte[] key, UnsafeRow row, long time) {
    int number = opened(row.numFields());
    int place = number << 16 | chunks.get(number).add(key, 0, key.length, row, time);
    gone(index.put(KeyIndex.hash(key, 0, key.length), isOf(key), place));
  }

  void remove(byte[] key) {
    gone(index.remove(KeyIndex.hash(key, 0, key.length), isOf(key)));
  }

  private IntPredicate isOf(byte[] key) {
    return place -> chunks.get(place >> 16).hasKey(place & 0xffff, key);
  }

  private void gone(int place) {
    if (place != KeyIndex.NONE) {
      chunks.get(place >> 16).remove(place & 0xffff);
    }
  }

  private int opened(int fields) {
    if (open >= 0 && chunks.get(open).full()) {
      trim();
    }
    if (open < 0) {
      open = chunks.indexOf(null);
      if (open < 0) {
        open = chunks.size();
        chunks.add(null);
      }
      chunks.set(open, new RowChunk(fields));
    }
    return open;
  }

  /** Called after rows have been put: from now on a snapshot may be taken. */
  void seal() {
    trim();
    List<Integer> small = new ArrayList<>();
    for (int i = 0; i < chunks.size(); i++) {
      RowChunk chunk = chunks.get(i);
      if (chunk != null && chunk.live() == 0) {
        chunks.set(i, null);
      } else if (chunk != null && chunk.live() < SMALL) {
        small.add(i);
      }
    }
    if (small.size() > MOST_SMALL) {
      merge(small);
    }
  }

  private void merge(List<Integer> numbers) {
    for (int number : numbers) {
      RowChunk chunk = chunks.get(number);
      UnsafeRow pointer = chunk.pointer();
      for (int row = 0; row < chunk.size(); row++) {
        if (!chunk.isGone(row)) {
          int before = number << 16 | row;
          int into = opened(pointer.numFields());
          int place = into << 16 | chunks.get(into).add(chunk, row, pointer);
          index.put(chunk.hash(row), found -> found == before, place);
        }
      }
      chunks.set(number, null);
    }
    trim();
  }

  private void trim() {
    if (open >= 0) {
      chunks.get(open).trim();
      open = -1;
    }
  }

  /** Removes the rows of records that are older. */
  void removeBefore(long time) {
    for (int i = 0; i < chunks.size(); i++) {
      RowChunk chunk = chunks.get(i);
      for (int row = 0; chunk != null && row < chunk.size(); row++) {
        if (chunk.time(row) < time && !chunk.isGone(row)) {
          int place = i << 16 | row;
          gone(index.remove(chunk.hash(row), found -> found == place));
        }
      }
    }
    seal();
  }

  /** A snapshot of the rows without those of records older than a time; thread-safe. */
  Iterable<InternalRow> snapshot(long since) {
    List<RowChunk> found = new ArrayList<>();
    List<long[]> gone = new ArrayList<>();
    for (RowChunk chunk : chunks) {
      if (chunk != null) {
        found.add(chunk);
        gone.add(chunk.gone());
      }
    }
    return () -> new Rows(found, gone, since);
  }

  private static final class Rows implements Iterator<InternalRow> {
    private final List<RowChunk> chunks;
    private final List<long[]> allGone;
    private final long since;
    private int number = -1;
    private RowChunk chunk;
    private long[] gone;
    private int size;
    private int row;
    private UnsafeRow pointer;

    Rows(List<RowChunk> chunks, List<long[]> gone, long since) {
      this.chunks = chunks;
      this.allGone = gone;
      this.since = since;
    }

    @Override
    public boolean hasNext() {
      while (true) {
        while (row < size) {
          if (!RowChunk.isGone(gone, row) && chunk.time(row) >= since) {
            return true;
          }
          row++;
        }
        if (++number >= chunks.size()) {
          return false;
        }
        chunk = chunks.get(number);
        gone = allGone.get(number);
        size = chunk.size();
        pointer = chunk.pointer();
        row = 0;
      }
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      chunk.point(pointer, row++);
      return pointer;
    }
  }
}
