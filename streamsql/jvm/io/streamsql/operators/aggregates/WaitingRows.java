package io.streamsql.operators.aggregates;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;

/** The rows of a key that wait for earlier ones, ordered by time and then by arrival. */
public final class WaitingRows {
  /** A waiting row. */
  public static final class Row {
    final byte[] values;
    final byte[] headers;
    final byte[] row;

    /**
     * @param values the inputs of aggregates
     * @param headers packed; null: none
     * @param row the columns that are passed on
     */
    public Row(byte[] values, byte[] headers, byte[] row) {
      this.values = values;
      this.headers = headers;
      this.row = row;
    }

    /** The inputs of aggregates, LAG and patterns. */
    public byte[] values() {
      return values;
    }
  }

  private static final int NONE = -1;

  private final MapState<Long, byte[]> state;

  /** The waiting rows of the handle's operator. */
  public WaitingRows(StatefulProcessorHandle handle) {
    this.state =
        handle.getMapState("waiting", Encoders.LONG(), Encoders.BINARY(), TTLConfig.NONE());
  }

  /** Whether the row is the first one of its time. */
  public boolean add(long time, Row row) {
    byte[] before = state.getValue(time);
    int length = before == null ? 0 : before.length;
    int more = 3 * Integer.BYTES + row.values.length + row.row.length;
    more += row.headers == null ? 0 : row.headers.length;
    ByteBuffer out = ByteBuffer.allocate(length + more);
    if (before != null) {
      out.put(before);
    }
    put(out, row.values);
    put(out, row.headers);
    put(out, row.row);
    state.updateValue(time, out.array());
    return before == null;
  }

  /** Removes and returns the rows of that time. */
  public List<Row> take(long time) {
    List<Row> rows = new ArrayList<>();
    byte[] bytes = state.getValue(time);
    if (bytes != null) {
      ByteBuffer in = ByteBuffer.wrap(bytes);
      while (in.hasRemaining()) {
        rows.add(new Row(get(in), get(in), get(in)));
      }
      state.removeKey(time);
    }
    return rows;
  }

  private static void put(ByteBuffer out, byte[] bytes) {
    if (bytes == null) {
      out.putInt(NONE);
    } else {
      out.putInt(bytes.length).put(bytes);
    }
  }

  private static byte[] get(ByteBuffer in) {
    int length = in.getInt();
    if (length == NONE) {
      return null;
    }
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }
}
