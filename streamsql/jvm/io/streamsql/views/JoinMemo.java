package io.streamsql.views;

import io.streamsql.views.Weights.Weighted;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Changes of left rows (row BINARY, side 0, weight BIGINT, nothing) and the pairs of those that are
 * added (row, side 1, weight, right BINARY) as changes of a temporal join: (weight, left, right). A
 * left row that goes takes the pairs with it that it had when it came; of equal ones, the first.
 */
public final class JoinMemo extends SidesOfKeys {
  private static final long serialVersionUID = 1L;
  private static final int HEAD = Long.BYTES + Integer.BYTES;
  private final boolean outer;
  private final boolean keeps;

  /**
   * @param outer whether a left row without a pair is a result, too
   * @param keeps whether left rows may go
   */
  public JoinMemo(boolean outer, boolean keeps) {
    this.outer = outer;
    this.keeps = keeps;
  }

  @Override
  boolean hasState() {
    return keeps;
  }

  @Override
  Iterator<InternalRow> changes(
      byte[] key, List<Weighted> arrived, List<Weighted> pairs, ViewStore store) {
    if (arrived.isEmpty()) {
      return Collections.emptyIterator();
    }
    long copies = arrived.get(0).weight();
    List<Object[]> results = new ArrayList<>();
    Deque<Made> memo = keeps ? read(store.before(key, ONLY)) : new ArrayDeque<>();
    if (copies > 0) {
      Made made = new Made(copies, partners(pairs, copies));
      give(made.partners, copies, key, results);
      Made last = memo.peekLast();
      boolean alike = last != null && Arrays.equals(last.partners, made.partners);
      memo.add(alike ? memo.removeLast().with(copies) : made);
    } else {
      take(memo, -copies, key, results);
    }
    if (keeps && memo.isEmpty()) {
      store.remove(key, ONLY);
    } else if (keeps) {
      store.put(key, ONLY, bytes(memo));
    }
    return new Results(3).rows(results);
  }

  private void take(Deque<Made> memo, long copies, byte[] left, List<Object[]> results) {
    for (long rest = copies; rest > 0; ) {
      Made first = memo.remove();
      long taken = Math.min(rest, first.copies);
      give(first.partners, -taken, left, results);
      if (taken < first.copies) {
        memo.addFirst(first.with(-taken));
      }
      rest -= taken;
    }
  }

  private void give(byte[] partners, long copies, byte[] left, List<Object[]> results) {
    if (outer && partners.length == 0) {
      results.add(new Object[] {copies, left, null});
    }
    ByteBuffer rest = ByteBuffer.wrap(partners);
    while (rest.hasRemaining()) {
      results.add(new Object[] {copies * rest.getLong(), left, next(rest)});
    }
  }

  /** Copies of a left row that have come with the same right rows, those of one copy. */
  @SuppressWarnings("ArrayRecordComponent")
  private record Made(long copies, byte[] partners) {
    Made with(long more) {
      return new Made(copies + more, partners);
    }
  }

  /** The right rows of one copy with their weights, in the order of their bytes. */
  private static byte[] partners(List<Weighted> pairs, long copies) {
    List<Weighted> sorted = new ArrayList<>(pairs);
    sorted.sort(Comparator.comparing(Weighted::row, Arrays::compareUnsigned));
    return bytes(sorted, Weighted::row, pair -> pair.weight() / copies);
  }

  private static byte[] bytes(Deque<Made> memo) {
    return bytes(memo, Made::partners, Made::copies);
  }

  private static Deque<Made> read(byte[] memo) {
    Deque<Made> found = new ArrayDeque<>();
    ByteBuffer rest = ByteBuffer.wrap(memo == null ? ONLY : memo);
    while (rest.hasRemaining()) {
      found.add(new Made(rest.getLong(), next(rest)));
    }
    return found;
  }

  /** Each as a number, a length, and that many bytes. */
  private static <T> byte[] bytes(
      Collection<T> all, Function<T, byte[]> part, ToLongFunction<T> number) {
    int size = all.stream().mapToInt(one -> HEAD + part.apply(one).length).sum();
    ByteBuffer buffer = ByteBuffer.allocate(size);
    for (T one : all) {
      byte[] bytes = part.apply(one);
      buffer.putLong(number.applyAsLong(one)).putInt(bytes.length).put(bytes);
    }
    return buffer.array();
  }

  private static byte[] next(ByteBuffer rest) {
    byte[] bytes = new byte[rest.getInt()];
    rest.get(bytes);
    return bytes;
  }
}
