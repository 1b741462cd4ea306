package io.streamsql.operators.joins;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;

/**
 * The third step of a foreign-key join, by the left table's primary key. It drops results of
 * outdated versions of the left row (results of different foreign keys overtake each other), and
 * deletes only what it has passed on before.
 *
 * <p>State: of each left row the newest version, and whether it has a result.
 */
public final class ForeignKeyResults extends KeyedOperator<JoinedRow> {
  private static final long serialVersionUID = 1L;
  private transient ValueState<byte[]> state;
  private transient boolean known;
  private transient boolean changed;
  private transient long version;
  private transient boolean out;

  @Override
  protected Encoder<JoinedRow> results() {
    return Encoders.bean(JoinedRow.class);
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    state = getHandle().getValueState("result", Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<JoinedRow> results) {
    load();
    ForeignKeyResult result = ForeignKeyResult.of(row.getRow());
    if (result.version < version) {
      return;
    }
    boolean there = result.left != null;
    if (there || out) {
      results.add(new JoinedRow(key, row.getTime(), row.getHeaders(), result.left, result.right));
    }
    changed |= version != result.version || out != there;
    version = result.version;
    out = there;
  }

  private void load() {
    if (known) {
      return;
    }
    byte[] stored = state.get();
    if (stored != null) {
      ByteBuffer buffer = ByteBuffer.wrap(stored);
      version = buffer.getLong();
      out = buffer.get() == 1;
    }
    known = true;
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<JoinedRow> results) {
    if (changed) {
      state.update(
          ByteBuffer.allocate(Long.BYTES + 1).putLong(version).put((byte) (out ? 1 : 0)).array());
    }
    known = false;
    changed = false;
    version = 0;
    out = false;
  }
}
