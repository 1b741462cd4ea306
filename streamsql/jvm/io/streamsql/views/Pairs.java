package io.streamsql.views;

import io.streamsql.views.Weights.Weighted;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/** Each row of the left side with each of the right one, made one by one. */
final class Pairs implements Iterator<InternalRow> {
  private final Results results;
  private final List<Weighted> right;
  private final Iterator<Weighted> left;
  private Weighted one;
  private int next;

  Pairs(Results results, List<Weighted> left, List<Weighted> right) {
    this.results = results;
    this.right = right;
    this.left = right.isEmpty() ? Collections.emptyIterator() : left.iterator();
    this.next = right.size();
  }

  @Override
  public boolean hasNext() {
    return next < right.size() || left.hasNext();
  }

  @Override
  public InternalRow next() {
    if (next == right.size()) {
      one = left.next();
      next = 0;
    }
    Weighted other = right.get(next++);
    return results.row(one.weight() * other.weight(), one.row(), other.row());
  }
}
