package io.streamsql.functions;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** A {@link BoundedBuffer} with removal of elements, for aggregates of tables. */
abstract class SignedBuffer extends BoundedBuffer {
  SignedBuffer(int limit) {
    super(limit);
  }

  /** Adds the element, or removes it if the sign is negative. */
  abstract void add(UnsafeRow element, long sign);

  @Override
  final void add(UnsafeRow element) {
    add(element, 1);
  }

  /** The elements in order of arrival; a removal takes the last equal one. */
  static final class Values extends SignedBuffer {
    private final ArrayList<UnsafeRow> elements = new ArrayList<>();

    Values(int limit) {
      super(limit);
    }

    @Override
    void add(UnsafeRow element, long sign) {
      if (sign >= 0) {
        if (elements.size() < limit) {
          elements.add(element);
        }
        return;
      }
      int place = elements.lastIndexOf(element);
      if (place >= 0) {
        elements.remove(place);
      }
    }

    @Override
    Collection<UnsafeRow> elements() {
      return elements;
    }
  }

  /** The count of each element; beyond the limit no other elements are counted. */
  static final class Counts extends SignedBuffer {
    private final Map<UnsafeRow, Long> counts = new LinkedHashMap<>();

    Counts(int limit) {
      super(limit);
    }

    @Override
    void add(UnsafeRow element, long sign) {
      Long before = counts.get(element);
      if (before == null) {
        if (sign > 0 && counts.size() < limit) {
          counts.put(element, sign);
        }
      } else if (before + sign > 0) {
        counts.put(element, before + sign);
      } else {
        counts.remove(element);
      }
    }

    void forEach(BiConsumer<UnsafeRow, Long> visitor) {
      counts.forEach(visitor);
    }

    @Override
    Collection<UnsafeRow> elements() {
      return counts.keySet();
    }

    @Override
    void merge(BoundedBuffer other) {
      ((Counts) other).forEach(this::add);
    }

    /** The number of elements, then each one's count, length and bytes. */
    @Override
    byte[] serialize() {
      int size = 4;
      for (UnsafeRow element : counts.keySet()) {
        size += 12 + element.getSizeInBytes();
      }
      ByteBuffer out = ByteBuffer.allocate(size).putInt(counts.size());
      forEach(
          (element, count) -> {
            byte[] bytes = element.getBytes();
            out.putLong(count).putInt(bytes.length).put(bytes);
          });
      return out.array();
    }

    @Override
    void addAll(byte[] state) {
      ByteBuffer in = ByteBuffer.wrap(state);
      for (int size = in.getInt(); size > 0; size--) {
        long count = in.getLong();
        add(next(in), count);
      }
    }
  }
}
