package io.streamsql.operators.joins;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import io.streamsql.operators.LatestRow;
import io.streamsql.operators.TimedRow;
import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;

/**
 * Joins two tables (sides 0 and 1) by their primary keys: a change of either gives the key's new
 * result, or deletes its previous one. State: both tables' latest row of each key.
 */
public final class TableTableJoin extends KeyedOperator<JoinedRow> {
  private static final long serialVersionUID = 1L;
  private final boolean leftAlone;
  private final boolean rightAlone;
  private transient LatestRow left;
  private transient LatestRow right;

  /**
   * @param leftAlone whether a left row without a right one is a result (LEFT, FULL)
   * @param rightAlone whether a right row without a left one is a result (RIGHT, FULL)
   */
  public TableTableJoin(boolean leftAlone, boolean rightAlone) {
    this.leftAlone = leftAlone;
    this.rightAlone = rightAlone;
  }

  @Override
  protected Encoder<JoinedRow> results() {
    return Encoders.bean(JoinedRow.class);
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    left = new LatestRow(getHandle(), "left");
    right = new LatestRow(getHandle(), "right");
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<JoinedRow> out) {
    boolean before = hasResult();
    TimedRow other = row.getSide() == 0 ? right.get() : left.get();
    (row.getSide() == 0 ? left : right).set(row);
    boolean after = hasResult();
    if (!before && !after) {
      return;
    }
    long time = other == null ? row.getTime() : Math.max(row.getTime(), other.time);
    byte[] l = after ? rowOf(left) : null;
    byte[] r = after ? rowOf(right) : null;
    out.add(new JoinedRow(key, time, row.getHeaders(), l, r));
  }

  private boolean hasResult() {
    boolean l = left.get() != null;
    boolean r = right.get() != null;
    return l && r || l && leftAlone || r && rightAlone;
  }

  private static byte[] rowOf(LatestRow latest) {
    return latest.get() == null ? null : latest.get().row;
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<JoinedRow> out) {
    left.store();
    right.store();
  }
}
