package io.streamsql.operators.joins;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import java.nio.ByteBuffer;
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
 * The first step of a foreign-key join, by the left table's primary key: sends each change of a
 * left row to its foreign key ({@link ForeignKeyMember}), and notifies the previous one.
 *
 * <p>A row is a struct of the packed foreign key and the packed columns. State: of each left row
 * the version and the foreign key.
 */
public final class ForeignKeySubscriptions extends KeyedOperator<RoutedRow> {
  private static final long serialVersionUID = 1L;
  private static final byte[] NOTHING = new byte[0];
  private transient ValueState<byte[]> state;
  private transient boolean known;
  private transient boolean changed;
  private transient long version;
  private transient byte[] foreignKey;

  @Override
  protected Encoder<RoutedRow> results() {
    return Encoders.bean(RoutedRow.class);
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    state = getHandle().getValueState("subscription", Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<RoutedRow> out) {
    load();
    byte[] next = null;
    byte[] columns = NOTHING;
    if (row.getRow() != null) {
      UnsafeRow parts = new UnsafeRow(2);
      parts.pointTo(row.getRow(), row.getRow().length);
      next = parts.getBinary(0);
      columns = parts.getBinary(1);
    } else if (foreignKey == null) {
      return;
    }
    version++;
    changed = true;
    if (foreignKey != null && !Arrays.equals(foreignKey, next)) {
      boolean deleted = next == null;
      send(
          deleted ? ForeignKeyMember.Kind.DELETED : ForeignKeyMember.Kind.LEFT,
          foreignKey,
          key,
          row,
          NOTHING,
          out);
    }
    if (next != null) {
      send(ForeignKeyMember.Kind.THERE, next, key, row, columns, out);
    }
    foreignKey = next;
  }

  private void send(
      ForeignKeyMember.Kind kind,
      byte[] to,
      byte[] key,
      KeyedRow row,
      byte[] columns,
      List<RoutedRow> out) {
    ForeignKeyMember member = new ForeignKeyMember(kind, version, row.getTime(), key, columns);
    out.add(new RoutedRow(key, to, row.getTime(), row.getHeaders(), member.bytes()));
  }

  private void load() {
    if (known) {
      return;
    }
    byte[] stored = state.get();
    if (stored != null) {
      ByteBuffer buffer = ByteBuffer.wrap(stored);
      version = buffer.getLong();
      if (buffer.get() == 1) {
        foreignKey = new byte[buffer.remaining()];
        buffer.get(foreignKey);
      }
    }
    known = true;
  }

  /** The version of a deleted row stays: versions of a later row with its key have to be higher. */
  @Override
  protected void finish(byte[] key, TimerValues times, List<RoutedRow> out) {
    if (changed) {
      byte[] kept = foreignKey == null ? NOTHING : foreignKey;
      state.update(
          ByteBuffer.allocate(Long.BYTES + 1 + kept.length)
              .putLong(version)
              .put((byte) (foreignKey == null ? 0 : 1))
              .put(kept)
              .array());
    }
    known = false;
    changed = false;
    version = 0;
    foreignKey = null;
  }
}
