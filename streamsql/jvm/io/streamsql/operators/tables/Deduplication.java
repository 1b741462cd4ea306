package io.streamsql.operators.tables;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
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
 * Passes the first row of each key. With windows the key includes the window, and is deleted when
 * the time for late rows is over. The first column of a row is its stream time.
 *
 * <p>State: that the key has been seen.
 */
public final class Deduplication extends KeyedOperator<ChangedRow> {
  private static final long serialVersionUID = 1L;
  private static final byte[] YES = {1};
  private final int columns;
  private final long size;
  private final long grace;
  private transient ValueState<byte[]> seen;

  /**
   * @param columns the number of a row's columns
   * @param size of a window, in ms; 0: keys are never deleted
   * @param grace how late a row may be, in ms
   */
  public Deduplication(int columns, long size, long grace) {
    this.columns = columns;
    this.size = size;
    this.grace = grace;
  }

  @Override
  protected Encoder<ChangedRow> results() {
    return Encoders.bean(ChangedRow.class);
  }

  @Override
  protected boolean timed() {
    return size > 0;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    seen = getHandle().getValueState("seen", Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<ChangedRow> out) {
    long end = size == 0 ? 0 : Math.floorDiv(row.getTime(), size) * size + size;
    if (size > 0 && end + grace <= streamTime(row, times)) {
      late(row.getTime(), streamTime(row, times));
      return;
    }
    if (seen.exists()) {
      return;
    }
    seen.update(YES);
    if (size > 0) {
      getHandle().registerTimer(end + grace);
    }
    out.add(new ChangedRow(key, row, null, row.getRow()));
  }

  private long streamTime(KeyedRow row, TimerValues times) {
    UnsafeRow values = new UnsafeRow(columns);
    values.pointTo(row.getRow(), row.getRow().length);
    return Math.max(values.getLong(0), times.getCurrentWatermarkInMs());
  }

  @Override
  public Iterator<ChangedRow> handleExpiredTimer(
      byte[] key, TimerValues times, ExpiredTimerInfo expired) {
    seen.clear();
    return CollectionConverters.asScala(List.<ChangedRow>of().iterator());
  }
}
