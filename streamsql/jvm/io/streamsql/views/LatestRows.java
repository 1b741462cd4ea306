package io.streamsql.views;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Records of a table (key BINARY, row BINARY, null: deleted), those of a key in the order of the
 * log, as changes of its rows: of a batch, the last record of a key alone.
 */
public final class LatestRows extends ViewOperator {
  private static final long serialVersionUID = 1L;

  @Override
  StructType results() {
    return WEIGHTED;
  }

  @Override
  Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store) {
    byte[] after = null;
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      after = row.isNullAt(1) ? null : row.getBinary(1);
    }
    byte[] before = store.before(key, ONLY);
    List<Object[]> changes = new ArrayList<>();
    if (Arrays.equals(before, after)) {
      return new Results(2).rows(changes);
    }
    if (before != null) {
      changes.add(new Object[] {-1L, before});
    }
    if (after == null) {
      store.remove(key, ONLY);
    } else {
      changes.add(new Object[] {1L, after});
      store.put(key, ONLY, after);
    }
    return new Results(2).rows(changes);
  }
}
