package io.streamsql.views;

import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;

/** What an operator makes of rows that are sorted by their first column, the key. */
final class KeyedRows implements Iterator<InternalRow> {
  private final ViewOperator operator;
  private final Iterator<InternalRow> rows;
  private final ViewStore store;
  private final Runnable atEnd;
  private Iterator<InternalRow> results = Collections.emptyIterator();
  private InternalRow next;
  private byte[] nextKey;
  private boolean ended;

  /**
   * @param atEnd called once, when the last result has been taken
   */
  KeyedRows(ViewOperator operator, Iterator<InternalRow> rows, ViewStore store, Runnable atEnd) {
    this.operator = operator;
    this.rows = rows;
    this.store = store;
    this.atEnd = atEnd;
    advance();
  }

  private void advance() {
    next = rows.hasNext() ? rows.next() : null;
    nextKey = next == null ? null : next.getBinary(0);
  }

  @Override
  public boolean hasNext() {
    while (!results.hasNext()) {
      if (nextKey == null) {
        if (!ended) {
          ended = true;
          atEnd.run();
        }
        return false;
      }
      Group group = new Group(nextKey);
      results = operator.changes(nextKey, group, store);
      group.skip();
    }
    return true;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return results.next();
  }

  /** The rows of one key. An operator reads them before it gives its first result. */
  private final class Group implements Iterator<InternalRow> {
    private final byte[] key;
    private boolean taken;

    Group(byte[] key) {
      this.key = key;
    }

    @Override
    public boolean hasNext() {
      if (taken) {
        taken = false;
        advance();
      }
      return nextKey != null && (nextKey == key || Arrays.equals(nextKey, key));
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      taken = true;
      return next;
    }

    void skip() {
      while (hasNext()) {
        next();
      }
    }
  }
}
