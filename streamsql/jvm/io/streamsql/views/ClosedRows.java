package io.streamsql.views;

import io.streamsql.views.Weights.Weighted;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Rows that are in the result once watermarks have passed their moment. Of changes (key BINARY, row
 * BINARY, weight BIGINT, moment BIGINT) it makes those of the result: (weight, row). A change
 * without a row is the watermark of the source whose number is its weight; moments are microseconds
 * since the epoch, and a row without one is not final. Keys mean nothing: equal rows have equal
 * ones, which places them in one task.
 *
 * <p>A store has the rows whose moment is to come, by moment, the moments in their order, and the
 * watermarks.
 */
public final class ClosedRows extends ViewOperator {
  private static final long serialVersionUID = 1L;
  private static final int WATERMARKS = 2;

  private final int sources;

  /**
   * @param sources whose watermarks have to pass
   */
  public ClosedRows(int sources) {
    this.sources = sources;
  }

  @Override
  StructType results() {
    return WEIGHTED;
  }

  @Override
  Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store) {
    byte[] watermarks = prefixed(WATERMARKS, key);
    List<AwaitedRows.Change> changes = new ArrayList<>();
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      if (row.isNullAt(1)) {
        if (!row.isNullAt(3)) {
          advance(store, watermarks, row.getLong(2), row.getLong(3));
        }
      } else if (!row.isNullAt(3)) {
        Weighted weighted = new Weighted(row.getBinary(1), row.getLong(2));
        changes.add(new AwaitedRows.Change(weighted, row.getLong(3)));
      }
    }
    AwaitedRows awaited = new AwaitedRows(key, store);
    return awaited.results(changes, least(store, watermarks), true);
  }

  private static void advance(ViewStore store, byte[] watermarks, long source, long watermark) {
    byte[] item = Weights.bytes(source);
    byte[] known = store.get(watermarks, item);
    if (known == null || Weights.number(known) < watermark) {
      store.put(watermarks, item, Weights.bytes(watermark));
    }
  }

  /** No moment is before it while a source has had no rows. */
  private long least(ViewStore store, byte[] watermarks) {
    long least = Long.MAX_VALUE;
    int count = 0;
    for (ViewStore.Item item : store.items(watermarks)) {
      least = Math.min(least, Weights.number(item.value()));
      count++;
    }
    return count < sources ? Long.MIN_VALUE : least;
  }
}
