package io.streamsql.operators;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.PriorityQueue;

/** The order in which an operator takes the rows of a key: see {@link KeyedOperator}. */
final class RowOrder {
  private static final Comparator<KeyedRow> BY_INPUT =
      Comparator.comparingInt(KeyedRow::getSide).thenComparingInt(KeyedRow::getPartition);
  private static final Comparator<KeyedRow> IN_LOG =
      BY_INPUT.thenComparingLong(KeyedRow::getOffset);
  private static final Comparator<Input> EARLIEST =
      Comparator.comparing(
          Input::peek, Comparator.comparingLong(KeyedRow::getTime).thenComparing(BY_INPUT));

  private RowOrder() {}

  /** The rows, each released once it is taken. */
  static Iterator<KeyedRow> inOrder(Iterator<KeyedRow> rows) {
    KeyedRow first = rows.next();
    if (!rows.hasNext()) {
      return List.of(first).iterator();
    }
    HeldRows held = new HeldRows();
    List<KeyedRow> all = new ArrayList<>();
    for (KeyedRow row = first; row != null; row = rows.hasNext() ? rows.next() : null) {
      held.add(row);
      all.add(row);
    }
    all.sort(IN_LOG);
    return new Merged(all, held);
  }

  /** The remaining rows of one input: their indices in the list of all. */
  private static final class Input {
    private final List<KeyedRow> rows;
    private final int end;
    private int next;

    Input(List<KeyedRow> rows, int begin, int end) {
      this.rows = rows;
      this.next = begin;
      this.end = end;
    }

    KeyedRow peek() {
      return rows.get(next);
    }

    KeyedRow take() {
      return rows.set(next++, null);
    }

    boolean isEmpty() {
      return next == end;
    }
  }

  /** Always the earliest of the inputs' next rows. */
  private static final class Merged implements Iterator<KeyedRow> {
    private final PriorityQueue<Input> others = new PriorityQueue<>(EARLIEST);
    private final HeldRows held;
    private Input input;

    Merged(List<KeyedRow> rows, HeldRows held) {
      this.held = held;
      int begin = 0;
      for (int place = 1; place <= rows.size(); place++) {
        if (place == rows.size() || BY_INPUT.compare(rows.get(begin), rows.get(place)) != 0) {
          others.add(new Input(rows, begin, place));
          begin = place;
        }
      }
      input = others.poll();
    }

    @Override
    public boolean hasNext() {
      return input != null;
    }

    @Override
    public KeyedRow next() {
      if (input == null) {
        throw new NoSuchElementException();
      }
      KeyedRow row = input.take();
      if (input.isEmpty()) {
        input = others.poll();
      } else if (!others.isEmpty() && EARLIEST.compare(others.peek(), input) < 0) {
        others.add(input);
        input = others.poll();
      }
      if (input == null) {
        held.release();
      }
      return row;
    }
  }
}
