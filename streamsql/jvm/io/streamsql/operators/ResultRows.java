package io.streamsql.operators;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.streaming.TimerValues;

/**
 * The results of a key's rows, created lazily: those of one row are in memory at once. Spark sets
 * the state's key before each request.
 *
 * @param <R> the operator's result
 */
final class ResultRows<R> implements Iterator<R> {
  private final KeyedOperator<R> operator;
  private final byte[] key;
  private final Iterator<KeyedRow> rows;
  private final TimerValues times;
  private List<R> made = new ArrayList<>();
  private int next;
  private boolean finished;

  ResultRows(KeyedOperator<R> operator, byte[] key, Iterator<KeyedRow> rows, TimerValues times) {
    this.operator = operator;
    this.key = key;
    this.rows = rows;
    this.times = times;
  }

  @Override
  public boolean hasNext() {
    while (next == made.size()) {
      if (finished) {
        return false;
      }
      if (next > 0) {
        made = new ArrayList<>();
        next = 0;
      }
      if (rows.hasNext()) {
        operator.process(key, rows.next(), times, made);
      } else {
        operator.finish(key, times, made);
        finished = true;
      }
    }
    return true;
  }

  @Override
  public R next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return made.set(next++, null);
  }
}
