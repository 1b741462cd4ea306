package io.streamsql.operators.joins;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import io.streamsql.operators.LatestRow;
import io.streamsql.operators.TimedRow;
import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.collection.Iterator;

/**
 * The second step of a foreign-key join, by the foreign key: left rows (side 0, {@link
 * ForeignKeyMember}) are joined with the right table's row (side 1), and each change of the right
 * row with all left rows of its key. Results go back to the left row's key ({@link
 * ForeignKeyResult}).
 *
 * <p>State: the right table's latest row of each key, and the left rows that refer to it.
 */
public final class ForeignKeyJoin extends KeyedOperator<RoutedRow> {
  private static final long serialVersionUID = 1L;
  private final boolean outer;
  private transient LatestRow right;
  private transient MapState<byte[], byte[]> members;

  /**
   * @param outer whether a left row without a right one is a result (LEFT)
   */
  public ForeignKeyJoin(boolean outer) {
    this.outer = outer;
  }

  @Override
  protected Encoder<RoutedRow> results() {
    return Encoders.bean(RoutedRow.class);
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    right = new LatestRow(getHandle(), "right");
    members =
        getHandle().getMapState("members", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<RoutedRow> out) {
    if (row.getSide() == 0) {
      leftChanged(key, ForeignKeyMember.of(row.getRow()), row, out);
    } else {
      rightChanged(key, row, out);
    }
  }

  private void leftChanged(
      byte[] key, ForeignKeyMember member, KeyedRow cause, List<RoutedRow> out) {
    if (member.kind == ForeignKeyMember.Kind.THERE) {
      members.updateValue(member.key, member.bytes());
      send(key, member, cause, out);
      return;
    }
    members.removeKey(member.key);
    if (member.kind == ForeignKeyMember.Kind.DELETED) {
      byte[] none = new ForeignKeyResult(member.version, null, null).bytes();
      out.add(new RoutedRow(key, member.key, cause.getTime(), cause.getHeaders(), none));
    }
  }

  private void rightChanged(byte[] key, KeyedRow row, List<RoutedRow> out) {
    if (row.getRow() == null && right.get() == null) {
      return;
    }
    right.set(row);
    for (Iterator<byte[]> all = members.values(); all.hasNext(); ) {
      send(key, ForeignKeyMember.of(all.next()), row, out);
    }
  }

  private void send(byte[] key, ForeignKeyMember member, KeyedRow cause, List<RoutedRow> out) {
    TimedRow other = right.get();
    boolean result = other != null || outer;
    long time = Math.max(cause.getTime(), member.time);
    byte[] row =
        new ForeignKeyResult(
                member.version, result ? member.row : null, other == null ? null : other.row)
            .bytes();
    time = other == null ? time : Math.max(time, other.time);
    out.add(new RoutedRow(key, member.key, time, cause.getHeaders(), row));
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<RoutedRow> out) {
    right.store();
  }
}
