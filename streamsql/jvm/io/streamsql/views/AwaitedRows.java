package io.streamsql.views;

import io.streamsql.views.Weights.Weighted;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/** The rows of a key, in a store, whose moment is to come: by moment, with the moments in order. */
final class AwaitedRows {
  private static final int MOMENTS = 0;
  private static final int ROWS = 1;

  private final byte[] key;
  private final byte[] moments;
  private final ViewStore store;

  /** A change of a row, and the moment (microseconds since the epoch) at which it matters. */
  record Change(Weighted row, long moment) {}

  AwaitedRows(byte[] key, ViewStore store) {
    this.key = key;
    moments = ViewOperator.prefixed(MOMENTS, key);
    this.store = store;
  }

  /**
   * The changes (weight, row) of the rows that are in a result.
   *
   * @param enters whether a row is in the result from its moment on, rather than until then
   */
  Iterator<InternalRow> results(List<Change> changes, long now, boolean enters) {
    Weights results = new Weights();
    leave(now, enters, results);
    for (Change change : changes) {
      boolean isToCome = change.moment > now;
      if (isToCome != enters) {
        results.add(change.row.row(), change.row.weight());
      }
      if (isToCome) {
        keep(change);
      }
    }
    return new Results(2)
        .rows(
            results.rows().stream().map(each -> new Object[] {each.weight(), each.row()}).toList());
  }

  /** The next moment; null: no row waits. */
  Long next() {
    byte[] next = store.first(moments);
    return next == null ? null : Weights.ofOrdered(next);
  }

  private void keep(Change change) {
    byte[] item = Weights.ordered(change.moment);
    byte[] at = at(item);
    Weights.apply(store, at, List.of(change.row));
    if (store.hasItems(at)) {
      store.put(moments, item, ViewOperator.ONLY);
    } else {
      store.remove(moments, item);
    }
  }

  /** The rows whose moment has come leave the store. */
  private void leave(long now, boolean enters, Weights results) {
    byte[] next = store.first(moments);
    while (next != null && Weights.ofOrdered(next) <= now) {
      byte[] at = at(next);
      for (Weighted each : Weights.stored(store, at)) {
        results.add(each.row(), enters ? each.weight() : -each.weight());
        store.remove(at, each.row());
      }
      store.remove(moments, next);
      next = store.first(moments);
    }
  }

  private byte[] at(byte[] item) {
    byte[] found = ViewOperator.prefixed(ROWS, key);
    return ByteBuffer.allocate(found.length + item.length).put(found).put(item).array();
  }
}
