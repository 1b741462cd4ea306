package io.streamsql.operators.joins;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;

/**
 * Joins stream rows (side 1) with the row of the table (side 0) at their time; changes of the table
 * have no results. State: the table's latest row of each key.
 */
public final class StreamTableJoin extends KeyedOperator<JoinedRow> {
  private static final long serialVersionUID = 1L;
  private final boolean outer;
  private transient ValueState<byte[]> table;
  private transient byte[] latest;
  private transient boolean known;

  /**
   * @param outer whether a stream row without a table row is a result too (LEFT)
   */
  public StreamTableJoin(boolean outer) {
    this.outer = outer;
  }

  @Override
  protected Encoder<JoinedRow> results() {
    return Encoders.bean(JoinedRow.class);
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    table = getHandle().getValueState("table", Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<JoinedRow> out) {
    if (row.getSide() == 0) {
      store(row.getRow());
      return;
    }
    if (!known) {
      latest = table.get();
      known = true;
    }
    if (row.getRow() != null && (outer || latest != null)) {
      JoinedRow joined = new JoinedRow(key, row.getTime(), row.getHeaders(), row.getRow(), latest);
      out.add(joined.causedBy(row));
    }
  }

  private void store(byte[] row) {
    latest = row;
    known = true;
    if (row == null) {
      table.clear();
    } else {
      table.update(row);
    }
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<JoinedRow> out) {
    known = false;
    latest = null;
  }
}
