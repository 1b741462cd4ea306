package io.streamsql.views;

import io.streamsql.views.Weights.Weighted;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Changes of groups (key BINARY, weight BIGINT, row BINARY) as all rows of each changed group,
 * before and after the batch: (key, after, row), a row as often as its weight says. Rows have the
 * order of their bytes.
 */
public final class GroupContents extends ViewOperator {
  private static final long serialVersionUID = 1L;

  /** Under this prefix a store has the rows of a group, and under the other that it exists. */
  private static final int ROWS = 0;

  private static final int EXISTS = 1;

  private final boolean always;

  /**
   * @param always whether a group without rows is a group, too. It then has a row more than it has,
   *     which is null.
   */
  public GroupContents(boolean always) {
    this.always = always;
  }

  @Override
  StructType results() {
    return columns(
        "key", DataTypes.BinaryType, "after", DataTypes.BooleanType, "row", DataTypes.BinaryType);
  }

  @Override
  boolean givesKey() {
    return true;
  }

  @Override
  Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store) {
    Weights weights = new Weights();
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      if (!row.isNullAt(2)) {
        weights.add(row.getBinary(2), row.getLong(1));
      }
    }
    byte[] stored = prefixed(ROWS, key);
    byte[] mark = prefixed(EXISTS, key);
    boolean begins = always && store.before(mark, ONLY) == null;
    List<Weighted> changes = weights.rows();
    if (changes.isEmpty() && !begins) {
      return Collections.emptyIterator();
    }
    if (begins) {
      store.put(mark, ONLY, ONLY);
    }
    List<Weighted> before = Weights.before(store, stored);
    List<Weighted> after = Weights.apply(store, stored, before, changes);
    Results results = new Results(3);
    List<Iterator<InternalRow>> parts = new ArrayList<>();
    if (!begins) {
      parts.add(contents(results, key, false, ordered(before)));
    }
    parts.add(contents(results, key, true, ordered(after)));
    return Iterators.concat(parts.iterator());
  }

  /**
   * The rows in an order that only they decide: the sum of DOUBLEs depends on it, and what a batch
   * retracts is to be what the batch before has added.
   */
  private static List<Weighted> ordered(List<Weighted> rows) {
    List<Weighted> found = new ArrayList<>(rows);
    found.sort((a, b) -> Arrays.compareUnsigned(a.row(), b.row()));
    return found;
  }

  private Iterator<InternalRow> contents(
      Results results, byte[] key, boolean after, List<Weighted> rows) {
    Iterator<Iterator<InternalRow>> copies =
        Iterators.transform(
            rows.iterator(),
            row ->
                Iterators.transform(
                    Collections.nCopies((int) row.weight(), row).iterator(),
                    copy -> results.row(key, after, copy.row())));
    Iterator<InternalRow> all = Iterators.concat(copies);
    if (!always) {
      return all;
    }
    Iterator<InternalRow> none =
        Iterators.transform(List.of(key).iterator(), same -> results.row(same, after, null));
    return Iterators.concat(List.of(none, all).iterator());
  }
}
