package io.streamsql.operators;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.PriorityQueue;

/** The order in which an operator takes the rows of a key: see {@link KeyedOperator}. */
final class RowOrder {
  private static final Comparator<KeyedRow> BY_INPUT =
      Comparator.comparingInt(KeyedRow::getSide).thenComparingInt(KeyedRow::getPartition);
  private static final Comparator<KeyedRow> IN_LOG =
      BY_INPUT.thenComparingLong(KeyedRow::getOffset);
  private static final Comparator<Deque<KeyedRow>> EARLIEST =
      Comparator.comparing(
          Deque::peekFirst, Comparator.comparingLong(KeyedRow::getTime).thenComparing(BY_INPUT));

  private RowOrder() {}

  static List<KeyedRow> inOrder(Iterator<KeyedRow> rows) {
    KeyedRow first = rows.next();
    if (!rows.hasNext()) {
      return List.of(first);
    }
    List<KeyedRow> all = new ArrayList<>();
    all.add(first);
    rows.forEachRemaining(all::add);
    all.sort(IN_LOG);
    boolean single = BY_INPUT.compare(all.get(0), all.get(all.size() - 1)) == 0;
    return single ? all : merged(all);
  }

  /** Always the earliest of the inputs' next rows. */
  private static List<KeyedRow> merged(List<KeyedRow> rows) {
    PriorityQueue<Deque<KeyedRow>> inputs = new PriorityQueue<>(EARLIEST);
    Deque<KeyedRow> input = new ArrayDeque<>();
    for (KeyedRow row : rows) {
      if (!input.isEmpty() && BY_INPUT.compare(input.peekLast(), row) != 0) {
        inputs.add(input);
        input = new ArrayDeque<>();
      }
      input.add(row);
    }
    inputs.add(input);
    List<KeyedRow> merged = new ArrayList<>(rows.size());
    while (!inputs.isEmpty()) {
      Deque<KeyedRow> next = inputs.poll();
      merged.add(next.removeFirst());
      if (!next.isEmpty()) {
        inputs.add(next);
      }
    }
    return merged;
  }
}
