package io.streamsql.functions;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The distinct values of one group, none of them null. A value is an {@code UnsafeRow} of one
 * field, serialized as in {@link BoundedBuffer}. Values of a type of at most eight bytes are held
 * as words, in a table without objects.
 */
abstract class DistinctValues {
  static DistinctValues of(boolean words) {
    return words ? new Words() : new Rows();
  }

  /** Adds a value, whose bytes may change afterwards. */
  abstract void add(UnsafeRow value);

  abstract void merge(DistinctValues other);

  abstract int size();

  /** As {@link BoundedBuffer#serialized} writes them. */
  abstract byte[] serialize();

  /** Adds what {@link #serialize} has written, or a COLLECT_SET, which may have a null. */
  final void addAll(byte[] state) {
    ByteBuffer in = ByteBuffer.wrap(state);
    int count = in.getInt();
    expect(count);
    for (; count > 0; count--) {
      UnsafeRow value = BoundedBuffer.next(in);
      if (!value.isNullAt(0)) {
        add(value);
      }
    }
  }

  /** Reserves space for a number of values. */
  void expect(int count) {}

  /** Values that are a word of eight bytes each: a hash table with open addressing. */
  private static final class Words extends DistinctValues {
    private static final int ROW_BYTES = 2 * Long.BYTES;
    private static final int SMALLEST = 8;

    /** Zero marks an empty slot; a flag says whether zero is a value. */
    private long[] table = new long[SMALLEST];

    private boolean zero;
    private int used;

    @Override
    void add(UnsafeRow value) {
      add(value.getLong(0));
    }

    private void add(long word) {
      if (word == 0) {
        zero = true;
        return;
      }
      int place = place(word);
      if (table[place] == 0) {
        table[place] = word;
        if (++used > table.length / 4 * 3) {
          resize(table.length * 2);
        }
      }
    }

    /** The slot of the word. */
    private int place(long word) {
      int mask = table.length - 1;
      int place = (int) (word * 0x9E3779B97F4A7C15L >>> 32) & mask;
      while (table[place] != 0 && table[place] != word) {
        place = (place + 1) & mask;
      }
      return place;
    }

    private void resize(int length) {
      long[] old = table;
      table = new long[length];
      for (long word : old) {
        if (word != 0) {
          table[place(word)] = word;
        }
      }
    }

    @Override
    void expect(int count) {
      int needed = Integer.highestOneBit(Math.max(SMALLEST, count + count / 2)) * 2;
      if (needed > table.length) {
        resize(needed);
      }
    }

    @Override
    void merge(DistinctValues other) {
      Words words = (Words) other;
      zero |= words.zero;
      for (long word : words.table) {
        if (word != 0) {
          add(word);
        }
      }
    }

    @Override
    int size() {
      return used + (zero ? 1 : 0);
    }

    @Override
    byte[] serialize() {
      ByteBuffer out = ByteBuffer.allocate(Integer.BYTES + size() * (Integer.BYTES + ROW_BYTES));
      out.putInt(size());
      if (zero) {
        write(out, 0);
      }
      for (long word : table) {
        if (word != 0) {
          write(out, word);
        }
      }
      return out.array();
    }

    /** As in a row: the null bits, and the word in the processor's byte order. */
    private static void write(ByteBuffer out, long word) {
      out.putInt(ROW_BYTES).putLong(0);
      boolean little = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
      out.putLong(little ? Long.reverseBytes(word) : word);
    }
  }

  /** Values of any length. */
  private static final class Rows extends DistinctValues {
    private final Set<UnsafeRow> rows = new HashSet<>();

    @Override
    void add(UnsafeRow value) {
      if (!rows.contains(value)) {
        rows.add(value.copy());
      }
    }

    @Override
    void merge(DistinctValues other) {
      rows.addAll(((Rows) other).rows);
    }

    @Override
    int size() {
      return rows.size();
    }

    @Override
    byte[] serialize() {
      return BoundedBuffer.serialized(rows);
    }
  }
}
