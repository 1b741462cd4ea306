package io.streamsql.views;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A bag of rows with weights, in which the weights of equal rows add up. */
final class Weights {
  /** A row and how often it is there; less than zero where a change takes it away. */
  @SuppressWarnings("ArrayRecordComponent")
  record Weighted(byte[] row, long weight) {}

  private final Map<ByteBuffer, Long> weights = new LinkedHashMap<>();

  void add(byte[] row, long weight) {
    ByteBuffer key = ByteBuffer.wrap(row);
    long sum = weights.getOrDefault(key, 0L) + weight;
    if (sum == 0) {
      weights.remove(key);
    } else {
      weights.put(key, sum);
    }
  }

  boolean isEmpty() {
    return weights.isEmpty();
  }

  /** The rows with their weights. */
  @SuppressWarnings("ByteBufferBackingArray") // each wraps a whole array
  List<Weighted> rows() {
    List<Weighted> rows = new ArrayList<>(weights.size());
    weights.forEach((row, weight) -> rows.add(new Weighted(row.array(), weight)));
    return rows;
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
      if (weight == 0) {
        store.remove(key, change.row());
      } else {
        store.put(key, change.row(), bytes(weight));
      }
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
