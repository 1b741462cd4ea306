package io.streamsql.operators.tables;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import java.util.Arrays;
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
 * Translates a change of a table's row to changes of groups: each result is keyed by a group and
 * has the row that leaves it (before) and the one that enters it (after). A row that moves to
 * another group gives two. Rows are pairs of BINARY: the packed group and the inputs of its
 * aggregates.
 *
 * <p>State: of each key of the table the latest such pair.
 */
public final class TableChanges extends KeyedOperator<ChangedRow> {
  private static final long serialVersionUID = 1L;
  private transient ValueState<byte[]> latest;
  private transient byte[] current;
  private transient boolean known;

  @Override
  protected Encoder<ChangedRow> results() {
    return Encoders.bean(ChangedRow.class);
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    latest = getHandle().getValueState("latest", Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<ChangedRow> out) {
    if (!known) {
      current = latest.get();
      known = true;
    }
    byte[] before = current;
    current = row.getRow();
    byte[] oldGroup = part(before, 0);
    byte[] newGroup = part(current, 0);
    if (oldGroup != null && !Arrays.equals(oldGroup, newGroup)) {
      out.add(new ChangedRow(oldGroup, row, part(before, 1), null));
      before = null;
    }
    if (newGroup != null) {
      out.add(new ChangedRow(newGroup, row, part(before, 1), part(current, 1)));
    }
  }

  private static byte[] part(byte[] pair, int number) {
    if (pair == null) {
      return null;
    }
    UnsafeRow row = new UnsafeRow(2);
    row.pointTo(pair, pair.length);
    return row.getBinary(number);
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<ChangedRow> out) {
    if (current == null) {
      latest.clear();
    } else {
      latest.update(current);
    }
    known = false;
    current = null;
  }
}
