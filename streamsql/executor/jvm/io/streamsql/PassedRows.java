package io.streamsql;

import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;

/**
 * A table's rows behind a filter: those that pass, and of those that do not the ones whose key has
 * passed before and is deleted by them. A row's first column says whether it passes.
 *
 * <p>State: the keys that have passed.
 */
public final class PassedRows extends KeyedOperator<ChangedRow> {
  private static final long serialVersionUID = 1L;
  private static final byte[] YES = {1};
  private final int columns;
  private transient ValueState<byte[]> passed;

  /**
   * @param columns how many columns a row has
   */
  public PassedRows(int columns) {
    this.columns = columns;
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
    } else if (!passes && before) {
      passed.clear();
    }
    if (passes || before) {
      out.add(new ChangedRow(key, row, null, row.getRow()));
    }
  }
}
