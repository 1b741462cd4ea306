package io.streamsql.views;

import io.streamsql.source.Clock;
import io.streamsql.views.Weights.Weighted;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Rows that are in the result from one moment on, or until one. Of changes (key BINARY, row BINARY,
 * weight BIGINT, moment BIGINT) it makes those of the result: (weight, row). A change without a row
 * is the clock, which each key has in each batch; moments are microseconds since the epoch. Keys
 * mean nothing: equal rows have equal ones, which places them in one task.
 *
 * <p>A store has the rows whose moment is to come, by moment, and the moments in their order.
 */
public final class TemporalRows extends ViewOperator {
  private static final long serialVersionUID = 1L;
  private static final int MOMENTS = 0;
  private static final int ROWS = 1;
  private static final long MICROS = 1_000;

  private final int number;
  private final boolean enters;

  /**
   * @param number among the operators of the view
   * @param enters whether a row is in the result from its moment on, rather than until then
   */
  public TemporalRows(int number, boolean enters) {
    this.number = number;
    this.enters = enters;
  }

  @Override
  StructType results() {
    return columns("weight", DataTypes.LongType, "row", DataTypes.BinaryType);
  }

  @Override
  Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store) {
    long now = Long.MIN_VALUE;
    List<Change> changes = new ArrayList<>();
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      if (row.isNullAt(1)) {
        now = row.getLong(3);
      } else if (!row.isNullAt(3)) {
        changes.add(new Change(new Weighted(row.getBinary(1), row.getLong(2)), row.getLong(3)));
      }
    }
    Weights results = new Weights();
    byte[] moments = prefixed(MOMENTS, key);
    leave(moments, key, now, store, results);
    for (Change change : changes) {
      boolean isToCome = change.moment > now;
      if (isToCome != enters) {
        results.add(change.row.row(), change.row.weight());
      }
      if (isToCome) {
        byte[] item = Weights.ordered(change.moment);
        byte[] at = at(key, item);
        Weights.apply(store, at, List.of(change.row));
        if (store.hasItems(at)) {
          store.put(moments, item, ONLY);
        } else {
          store.remove(moments, item);
        }
      }
    }
    byte[] next = store.first(moments);
    Clock.next(number, key, next == null ? null : millis(Weights.ofOrdered(next)));
    return new Results(2)
        .rows(
            results.rows().stream().map(each -> new Object[] {each.weight(), each.row()}).toList());
  }

  /** The rows whose moment has come leave the store. */
  private void leave(byte[] moments, byte[] key, long now, ViewStore store, Weights results) {
    byte[] next = store.first(moments);
    while (next != null && Weights.ofOrdered(next) <= now) {
      byte[] at = at(key, next);
      for (Weighted each : Weights.stored(store, at)) {
        results.add(each.row(), enters ? each.weight() : -each.weight());
        store.remove(at, each.row());
      }
      store.remove(moments, next);
      next = store.first(moments);
    }
  }

  private record Change(Weighted row, long moment) {}

  private static byte[] at(byte[] key, byte[] item) {
    byte[] found = prefixed(ROWS, key);
    return ByteBuffer.allocate(found.length + item.length).put(found).put(item).array();
  }

  /** The first millisecond that is not before the moment. */
  private static long millis(long moment) {
    return -Math.floorDiv(-moment, MICROS);
  }
}
