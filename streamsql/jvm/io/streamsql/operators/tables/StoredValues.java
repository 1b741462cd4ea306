package io.streamsql.operators.tables;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;

/**
 * Completes a table's rows whose changes omit unchanged values, with the values that the row had
 * before. A row is BOOLEAN, whether it is deleted, and packed columns, of which the first is always
 * present, and each of the others is null if it is omitted. A value that was never present stays
 * null.
 *
 * <p>State: of each key the values of these other columns.
 */
public final class StoredValues extends KeyedOperator<ChangedRow> {
  private static final long serialVersionUID = 1L;

  /** Indices in a row. */
  private static final int DELETED = 0;

  private static final int GIVEN = 1;
  private static final int FIRST = 2;

  private final int columns;
  private transient ValueState<byte[]> stored;
  private transient byte[] current;
  private transient boolean known;
  private transient boolean changed;

  /**
   * @param columns the number of a row's columns
   */
  public StoredValues(int columns) {
    this.columns = columns;
  }

  @Override
  protected Encoder<ChangedRow> results() {
    return Encoders.bean(ChangedRow.class);
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    stored = getHandle().getValueState("stored", Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<ChangedRow> out) {
    if (!known) {
      current = stored.get();
      known = true;
    }
    UnsafeRow given = row(row.getRow());
    byte[] whole = row.getRow();
    byte[] kept = null;
    if (!given.getBoolean(DELETED)) {
      byte[][] values = values(given, current == null ? null : row(current));
      whole = packed(given.getBinary(GIVEN), values);
      kept = packed(null, values);
    }
    changed |= !Arrays.equals(kept, current);
    current = kept;
    out.add(new ChangedRow(key, row, null, whole));
  }

  private UnsafeRow row(byte[] packed) {
    UnsafeRow row = new UnsafeRow(columns);
    row.pointTo(packed, packed.length);
    return row;
  }

  private byte[][] values(UnsafeRow given, UnsafeRow before) {
    byte[][] values = new byte[columns][];
    for (int i = FIRST; i < columns; i++) {
      UnsafeRow from = given.isNullAt(i) ? before : given;
      values[i] = from == null || from.isNullAt(i) ? null : from.getBinary(i);
    }
    return values;
  }

  private byte[] packed(byte[] given, byte[][] values) {
    UnsafeRowWriter writer = new UnsafeRowWriter(columns);
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(DELETED, false);
    write(writer, GIVEN, given);
    for (int i = FIRST; i < columns; i++) {
      write(writer, i, values[i]);
    }
    return writer.getRow().copy().getBytes();
  }

  private static void write(UnsafeRowWriter writer, int place, byte[] value) {
    if (value == null) {
      writer.setNullAt(place);
    } else {
      writer.write(place, value);
    }
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<ChangedRow> out) {
    if (changed && current == null) {
      stored.clear();
    } else if (changed) {
      stored.update(current);
    }
    known = false;
    changed = false;
    current = null;
  }
}
