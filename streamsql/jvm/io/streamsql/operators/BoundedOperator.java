package io.streamsql.operators;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.FlatMapGroupsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Runs a {@link KeyedOperator} over bounded input: each key occurs once, so its state lives in
 * memory while the key is processed. The result equals that of a stream that has processed the same
 * rows in one batch, followed by the timers that are due at the time of the last row.
 *
 * @param <R> the operator's result
 */
final class BoundedOperator<R> implements FlatMapGroupsFunction<byte[], KeyedRow, R> {
  private static final long serialVersionUID = 1L;

  private final KeyedOperator<R> operator;
  private final long end;
  private transient MemoryState state;

  private BoundedOperator(KeyedOperator<R> operator, long end) {
    this.operator = operator;
    this.end = end;
  }

  /** The operator over rows in the form of {@link KeyedOperator#over}. */
  static <R> Dataset<Row> over(KeyedOperator<R> operator, Dataset<Row> rows) {
    long end = operator.awaitsTime() ? lastTime(rows) : Long.MIN_VALUE;
    return rows.groupBy(rows.col("key"))
        .as(Encoders.BINARY(), Encoders.bean(KeyedRow.class))
        .flatMapGroups(new BoundedOperator<>(operator, end), operator.results())
        .toDF();
  }

  private static long lastTime(Dataset<Row> rows) {
    Row last = rows.agg(functions.max(rows.col("time"))).first();
    return last.isNullAt(0) ? Long.MIN_VALUE : last.getLong(0);
  }

  @Override
  public Iterator<R> call(byte[] key, Iterator<KeyedRow> rows) {
    if (state == null) {
      state = new MemoryState();
      operator.setHandle(state);
      operator.init(OutputMode.Update(), operator.timed() ? TimeMode.EventTime() : TimeMode.None());
    }
    state.clear();
    List<R> out = new ArrayList<>();
    add(operator.handleInputRows(key, CollectionConverters.asScala(rows), new Times(0)), out);
    for (Long due = state.nextTimer(end); due != null; due = state.nextTimer(end)) {
      add(operator.handleExpiredTimer(key, new Times(end), new Expired(due)), out);
    }
    return out.iterator();
  }

  private static <R> void add(scala.collection.Iterator<R> results, List<R> out) {
    while (results.hasNext()) {
      out.add(results.next());
    }
  }

  private record Times(long getCurrentWatermarkInMs) implements TimerValues {
    @Override
    public long getCurrentProcessingTimeInMs() {
      return System.currentTimeMillis();
    }
  }

  private record Expired(long getExpiryTimeInMs) implements ExpiredTimerInfo {}
}
