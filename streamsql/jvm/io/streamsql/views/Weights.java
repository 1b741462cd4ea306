package io.streamsql.views;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A bag of rows with weights, in which the weights of equal rows add up. */
final class Weights {
  /** A row and how often it is there; less than zero where a change takes it away. */
  @SuppressWarnings("ArrayRecordComponent")
  record Weighted(byte[] row, long weight) {}

  /** This number of rows are compared with each other; more have an index. */
  private static final int FEW = 8;

  private byte[][] rows = new byte[1][];
  private long[] weights = new long[1];
  private int count;
  private Map<ByteBuffer, Integer> places;

  /** Adds to the weight of a row, and returns the sum. */
  long add(byte[] row, long weight) {
    int place = place(row);
    if (place == count) {
      if (count == rows.length) {
        rows = Arrays.copyOf(rows, 2 * count);
        weights = Arrays.copyOf(weights, 2 * count);
      }
      rows[count] = row;
      count++;
    }
    weights[place] += weight;
    return weights[place];
  }

  private int place(byte[] row) {
    if (count < FEW) {
      int place = 0;
      while (place < count && !Arrays.equals(rows[place], row)) {
        place++;
      }
      return place;
    }
    if (places == null) {
      places = new HashMap<>();
      for (int i = 0; i < count; i++) {
        places.put(ByteBuffer.wrap(rows[i]), i);
      }
    }
    Integer found = places.putIfAbsent(ByteBuffer.wrap(row), count);
    return found == null ? count : found;
  }

  /** The rows with their weights, but for those that add up to none. */
  List<Weighted> rows() {
    List<Weighted> found = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      if (weights[i] != 0) {
        found.add(new Weighted(rows[i], weights[i]));
      }
    }
    return found;
  }

  /** The rows that a store has under the key when a batch comes to it. */
  static List<Weighted> before(ViewStore store, byte[] key) {
    return store.isNew() ? List.of() : stored(store, key);
  }

  /** The rows that a store has under the key. */
  static List<Weighted> stored(ViewStore store, byte[] key) {
    List<Weighted> rows = new ArrayList<>();
    for (ViewStore.Item item : store.items(key)) {
      rows.add(new Weighted(item.item(), number(item.value())));
    }
    return rows;
  }

  /** Changes the rows that a store has under the key. */
  static void apply(ViewStore store, byte[] key, List<Weighted> changes) {
    for (Weighted change : changes) {
      byte[] before = store.get(key, change.row());
      long weight = (before == null ? 0 : number(before)) + change.weight();
      set(store, key, change.row(), weight);
    }
  }

  /** The same where the rows that it has are known; returns those that it has afterwards. */
  static List<Weighted> apply(
      ViewStore store, byte[] key, List<Weighted> before, List<Weighted> changes) {
    if (changes.isEmpty()) {
      return before;
    }
    Weights sums = new Weights();
    before.forEach(row -> sums.add(row.row(), row.weight()));
    for (Weighted change : changes) {
      set(store, key, change.row(), sums.add(change.row(), change.weight()));
    }
    return before.isEmpty() ? changes : sums.rows();
  }

  private static void set(ViewStore store, byte[] key, byte[] row, long weight) {
    if (weight == 0) {
      store.remove(key, row);
    } else {
      store.put(key, row, bytes(weight));
    }
  }

  /** The number as bytes that have the order of numbers. */
  static byte[] ordered(long number) {
    return bytes(number ^ Long.MIN_VALUE);
  }

  /** The number of such bytes. */
  static long ofOrdered(byte[] bytes) {
    return number(bytes) ^ Long.MIN_VALUE;
  }

  static long number(byte[] bytes) {
    return ByteBuffer.wrap(bytes).getLong();
  }

  static byte[] bytes(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }
}
