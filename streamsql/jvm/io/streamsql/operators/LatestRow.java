package io.streamsql.operators;

import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;

/** The latest row of a table at an operator's key, read and written once a batch. */
public final class LatestRow {
  private final ValueState<byte[]> state;
  private TimedRow row;
  private boolean known;
  private boolean changed;

  public LatestRow(StatefulProcessorHandle handle, String name) {
    state = handle.getValueState(name, Encoders.BINARY(), TTLConfig.NONE());
  }

  /** Null: there is none. */
  public TimedRow get() {
    if (!known) {
      row = TimedRow.of(state.get());
      known = true;
    }
    return row;
  }

  /** A change of the table; without a row it is deleted. */
  public void set(KeyedRow change) {
    row = change.getRow() == null ? null : new TimedRow(change.getTime(), change.getRow());
    known = true;
    changed = true;
  }

  /** Ends the key's batch. */
  public void store() {
    if (changed && row == null) {
      state.clear();
    } else if (changed) {
      state.update(row.bytes());
    }
    row = null;
    known = false;
    changed = false;
  }
}
