package io.streamsql.operators.tables;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A filter on a table: passes matching rows, and a deletion for a row that no longer matches. A
 * row's first column is the condition's result, its second the time at which the key expires (event
 * time, ms; null: never).
 *
 * <p>State: the keys that have passed and have not expired.
 */
public final class TableFilter extends KeyedOperator<ChangedRow> {
  private static final long serialVersionUID = 1L;
  private static final byte[] YES = {1};
  private final int columns;
  private final boolean expire;
  private transient ValueState<byte[]> passed;

  /**
   * @param columns the number of a row's columns
   * @param expire whether keys expire
   */
  public TableFilter(int columns, boolean expire) {
    this.columns = columns;
    this.expire = expire;
  }

  @Override
  protected boolean timed() {
    return expire;
  }

  @Override
  protected Encoder<ChangedRow> results() {
    return Encoders.bean(ChangedRow.class);
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    passed = getHandle().getValueState("passed", Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<ChangedRow> out) {
    UnsafeRow values = new UnsafeRow(columns);
    values.pointTo(row.getRow(), row.getRow().length);
    boolean passes = values.getBoolean(0);
    boolean before = passed.exists();
    if (passes && !before) {
      passed.update(YES);
      if (!values.isNullAt(1)) {
        getHandle().registerTimer(values.getLong(1));
      }
    } else if (!passes && before) {
      passed.clear();
    }
    if (passes || before) {
      out.add(new ChangedRow(key, row, null, row.getRow()));
    }
  }

  @Override
  public Iterator<ChangedRow> handleExpiredTimer(
      byte[] key, TimerValues times, ExpiredTimerInfo expired) {
    passed.clear();
    return CollectionConverters.asScala(Collections.emptyIterator());
  }
}
