package io.streamsql.views;

import io.streamsql.views.Weights.Weighted;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Changes of two sides (key BINARY, side INT, weight BIGINT, row BINARY) as pairs (weight, left,
 * right) of the left rows that the batch adds and the right rows after it. Only right rows are
 * kept: {@link JoinMemo} takes the pairs of a left row back.
 */
public final class TemporalJoin extends SidesOfKeys {
  private static final long serialVersionUID = 1L;
  private final boolean outer;

  /**
   * @param outer whether a left row without a right one is a result, too
   */
  public TemporalJoin(boolean outer) {
    this.outer = outer;
  }

  @Override
  Iterator<InternalRow> changes(
      byte[] key, List<Weighted> ofLeft, List<Weighted> ofRight, ViewStore store) {
    List<Weighted> added = ofLeft.stream().filter(row -> row.weight() > 0).toList();
    byte[] kept = prefixed(0, key);
    if (added.isEmpty() && !store.isNew()) {
      Weights.apply(store, kept, ofRight);
      return Collections.emptyIterator();
    }
    List<Weighted> right = Weights.apply(store, kept, Weights.before(store, kept), ofRight);
    Results results = new Results(3);
    return outer && right.isEmpty()
        ? Iterators.transform(added.iterator(), row -> results.row(row.weight(), row.row(), null))
        : new Pairs(results, added, right);
  }
}
