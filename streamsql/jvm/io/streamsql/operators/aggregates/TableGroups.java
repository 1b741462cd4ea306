package io.streamsql.operators.aggregates;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;

/**
 * Aggregates of a table's rows: subtracts a row that leaves a group and adds a row that enters it
 * ({@code TableChanges}), by aggregates that use the sign in a row's first column, an INT that is
 * 1. An empty group stays, as the aggregates of no rows.
 *
 * <p>State per group: its buffer and the latest time of a change.
 */
public final class TableGroups extends KeyedOperator<AggregatedRow> {
  private static final long serialVersionUID = 1L;
  private final AggregateBuffers buffers;
  private final int columns;
  private transient ValueState<byte[]> group;
  private transient InternalRow buffer;
  private transient long time;

  /**
   * @param columns the number of a row's columns, the sign included
   */
  public TableGroups(AggregateBuffers buffers, int columns) {
    this.buffers = buffers;
    this.columns = columns;
  }

  @Override
  protected Encoder<AggregatedRow> results() {
    return Encoders.bean(AggregatedRow.class);
  }

  @Override
  public void init(OutputMode mode, TimeMode timeMode) {
    group = getHandle().getValueState("group", Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<AggregatedRow> out) {
    if (buffer == null) {
      load();
    }
    UnsafeRow change = new UnsafeRow(2);
    change.pointTo(row.getRow(), row.getRow().length);
    take(change.getBinary(0), -1);
    take(change.getBinary(1), 1);
    time = Math.max(time, row.getTime());
    byte[] result = buffers.result(buffer);
    out.add(new AggregatedRow(key, time, null, null, row.getHeaders(), result));
  }

  private void take(byte[] values, int sign) {
    if (values == null) {
      return;
    }
    UnsafeRow row = new UnsafeRow(columns);
    row.pointTo(values, values.length);
    row.setInt(0, sign);
    buffers.update(buffer, row);
  }

  private void load() {
    byte[] bytes = group.get();
    if (bytes == null) {
      buffer = buffers.create();
      time = Long.MIN_VALUE;
      return;
    }
    ByteBuffer in = ByteBuffer.wrap(bytes);
    time = in.getLong();
    byte[] stored = new byte[in.remaining()];
    in.get(stored);
    buffer = buffers.load(stored);
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<AggregatedRow> out) {
    byte[] stored = buffers.store(buffer);
    group.update(ByteBuffer.allocate(8 + stored.length).putLong(time).put(stored).array());
    buffer = null;
  }
}
