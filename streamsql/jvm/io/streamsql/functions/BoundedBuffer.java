package io.streamsql.functions;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * At most {@code limit} elements of one group. An element is an {@code UnsafeRow} of one field,
 * compared and stored by its bytes, so no type needs code of its own.
 */
abstract class BoundedBuffer {
  final int limit;

  BoundedBuffer(int limit) {
    this.limit = limit;
  }

  /**
   * Adds the element, which the caller does not change afterwards, if it ranks among the kept ones.
   */
  abstract void add(UnsafeRow element);

  abstract Collection<UnsafeRow> elements();

  /** Adds the elements of another buffer. */
  void merge(BoundedBuffer other) {
    other.elements().forEach(this::add);
  }

  /** The elements as bytes, for {@link #addAll}. */
  byte[] serialize() {
    return serialized(elements());
  }

  /** Count, then each element's length and bytes. */
  static byte[] serialized(Collection<UnsafeRow> elements) {
    int size = 4;
    for (UnsafeRow element : elements) {
      size += 4 + element.getSizeInBytes();
    }
    ByteBuffer out = ByteBuffer.allocate(size).putInt(elements.size());
    for (UnsafeRow element : elements) {
      byte[] bytes = element.getBytes();
      out.putInt(bytes.length).put(bytes);
    }
    return out.array();
  }

  /** Adds the elements of another buffer's {@link #serialize}. */
  void addAll(byte[] state) {
    ByteBuffer in = ByteBuffer.wrap(state);
    for (int count = in.getInt(); count > 0; count--) {
      add(next(in));
    }
  }

  /** The element that is written next: its length and bytes. */
  static UnsafeRow next(ByteBuffer in) {
    byte[] bytes = new byte[in.getInt()];
    in.get(bytes);
    UnsafeRow element = new UnsafeRow(1);
    element.pointTo(bytes, bytes.length);
    return element;
  }

  /** The first elements, in the order of their arrival. */
  static final class First extends BoundedBuffer {
    private final Collection<UnsafeRow> elements;

    First(int limit, boolean distinct) {
      super(limit);
      elements = distinct ? new LinkedHashSet<>() : new ArrayList<>();
    }

    @Override
    void add(UnsafeRow element) {
      if (elements.size() < limit) {
        elements.add(element);
      }
    }

    @Override
    Collection<UnsafeRow> elements() {
      return elements;
    }
  }

  /** The smallest elements by an order, sorted by it; of equal ones the earlier come first. */
  static final class Smallest extends BoundedBuffer {
    private final ArrayList<UnsafeRow> elements = new ArrayList<>();
    private final Comparator<UnsafeRow> order;
    private final boolean distinct;

    Smallest(int limit, Comparator<UnsafeRow> order, boolean distinct) {
      super(limit);
      this.order = order;
      this.distinct = distinct;
    }

    @Override
    void add(UnsafeRow element) {
      int low = 0;
      int high = elements.size();
      while (low < high) {
        int middle = (low + high) >>> 1;
        if (order.compare(elements.get(middle), element) <= 0) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      boolean known = distinct && low > 0 && order.compare(elements.get(low - 1), element) == 0;
      if (low >= limit || known) {
        return;
      }
      elements.add(low, element);
      if (elements.size() > limit) {
        elements.remove(limit);
      }
    }

    @Override
    Collection<UnsafeRow> elements() {
      return elements;
    }
  }
}
