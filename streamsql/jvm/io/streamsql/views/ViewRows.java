package io.streamsql.views;

import io.streamsql.views.Weights.Weighted;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Changes of a view (key BINARY, weight BIGINT, row BINARY) as its records: (row, number, deleted),
 * of a key and a batch one at most. Without a key of the view, key and row are the same, and each
 * copy of a row has a number, from 1.
 */
public final class ViewRows extends ViewOperator {
  private static final long serialVersionUID = 1L;
  private final boolean keyed;

  /**
   * @param keyed whether the view has a key
   */
  public ViewRows(boolean keyed) {
    this.keyed = keyed;
  }

  @Override
  StructType results() {
    return columns(
        "row",
        DataTypes.BinaryType,
        "number",
        DataTypes.LongType,
        "deleted",
        DataTypes.BooleanType);
  }

  @Override
  boolean hasState() {
    return !keyed;
  }

  @Override
  Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store) {
    Weights weights = new Weights();
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      weights.add(row.getBinary(2), row.getLong(1));
    }
    List<Weighted> changes = weights.rows();
    List<Object[]> records = new ArrayList<>();
    if (keyed) {
      one(changes, records);
    } else if (!changes.isEmpty()) {
      numbered(changes.get(0), store, records);
    }
    return new Results(3).rows(records);
  }

  private static void one(List<Weighted> changes, List<Object[]> records) {
    Weighted added = null;
    Weighted removed = null;
    for (Weighted change : changes) {
      if (Math.abs(change.weight()) > 1 || (change.weight() > 0 ? added : removed) != null) {
        throw new IllegalStateException("the key of the view does not identify its rows");
      }
      if (change.weight() > 0) {
        added = change;
      } else {
        removed = change;
      }
    }
    if (added != null) {
      records.add(new Object[] {added.row(), 1L, false});
    } else if (removed != null) {
      records.add(new Object[] {removed.row(), 1L, true});
    }
  }

  private static void numbered(Weighted change, ViewStore store, List<Object[]> records) {
    byte[] row = change.row();
    byte[] stored = store.before(row, ONLY);
    long before = stored == null ? 0 : Weights.number(stored);
    long after = before + change.weight();
    for (long number = before + 1; number <= after; number++) {
      records.add(new Object[] {row, number, false});
    }
    for (long number = before; number > after; number--) {
      records.add(new Object[] {row, number, true});
    }
    if (after == 0) {
      store.remove(row, ONLY);
    } else {
      store.put(row, ONLY, Weights.bytes(after));
    }
  }
}
