package io.streamsql.views;

import io.streamsql.source.Clock;
import io.streamsql.views.Weights.Weighted;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
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
    return WEIGHTED;
  }

  @Override
  Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store) {
    long now = Long.MIN_VALUE;
    List<AwaitedRows.Change> changes = new ArrayList<>();
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      if (row.isNullAt(1)) {
        now = row.getLong(3);
      } else if (!row.isNullAt(3)) {
        Weighted weighted = new Weighted(row.getBinary(1), row.getLong(2));
        changes.add(new AwaitedRows.Change(weighted, row.getLong(3)));
      }
    }
    AwaitedRows awaited = new AwaitedRows(key, store);
    Iterator<InternalRow> results = awaited.results(changes, now, enters);
    Long next = awaited.next();
    Clock.next(number, key, next == null ? null : millis(next));
    return results;
  }

  /** The first millisecond that is not before the moment. */
  private static long millis(long moment) {
    return -Math.floorDiv(-moment, MICROS);
  }
}
