package io.streamsql.operators.aggregates;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Aggregates of the rows before each row, and values of one of them, in time order. An input row is
 * a pair of BINARY: the aggregates' inputs, and the columns that are passed on.
 *
 * <p>State per key: the time of its last row, the buffers of frames that no row leaves, and the
 * rows that other frames need. If all of these have a maximum age, a key is deleted when its last
 * row has exceeded it. With a grace, also the rows that wait for earlier ones, each with a timer.
 */
public final class OverWindows extends KeyedOperator<OverRow> {
  /** Rows do not wait: one that arrives after a later one is late. */
  public static final long AT_ONCE = -1;

  /** Input is bounded; rows wait until its end. */
  public static final long AT_THE_END = Long.MAX_VALUE;

  private static final long serialVersionUID = 1L;
  private static final long NEVER = Long.MAX_VALUE;
  private final List<AggregateBuffers> buffers;
  private final List<OverFrame> frames;
  private final int[] lags;
  private final int columns;
  private final long grace;
  private transient ValueState<byte[]> head;
  private transient FrameRows rows;
  private transient WaitingRows waiting;
  private transient UnsafeProjection packed;
  private transient TreeMap<Long, List<WaitingRows.Row>> held;
  private transient boolean loaded;
  private transient long last;
  private transient long timer;
  private transient byte[][] stored; // of frames that no row leaves
  private transient InternalRow[] totals; // the same, decoded on use

  /**
   * @param buffers of the aggregates of each frame
   * @param frames see {@link OverFrame#parse}
   * @param lags the distances of the rows before a row whose values it gets, comma-separated
   * @param columns the number of the values' columns
   * @param grace how long a row waits for earlier ones, in ms; or AT_ONCE, AT_THE_END
   */
  public OverWindows(
      List<AggregateBuffers> buffers, String frames, String lags, int columns, long grace) {
    this.buffers = new ArrayList<>(buffers);
    this.frames = OverFrame.parse(frames);
    this.lags =
        lags.isEmpty()
            ? new int[0]
            : Arrays.stream(lags.split(",", -1)).mapToInt(Integer::parseInt).toArray();
    this.columns = columns;
    this.grace = grace;
  }

  @Override
  protected Encoder<OverRow> results() {
    return Encoders.bean(OverRow.class);
  }

  @Override
  protected boolean timed() {
    return waits() || forgets();
  }

  private boolean waits() {
    return grace != AT_ONCE && grace != AT_THE_END;
  }

  /** Whether time alone decides that a key's state can be deleted. */
  private boolean forgets() {
    return lags.length == 0 && frames.stream().allMatch(frame -> frame.ms() >= 0);
  }

  /** When a key that can be deleted is, in ms after its last row. */
  private long kept() {
    return span() + (waits() ? grace : 0);
  }

  /** The longest time that frames reach back, in ms; -1: none is bounded by time. */
  private long span() {
    return frames.stream().mapToLong(OverFrame::ms).max().orElse(-1);
  }

  /** The number of rows that frames and lags reach back. */
  private int depth() {
    int most = frames.stream().mapToInt(OverFrame::rows).max().orElse(0);
    return Math.max(Math.max(most, 0), Arrays.stream(lags).max().orElse(0));
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    head = getHandle().getValueState("head", Encoders.BINARY(), TTLConfig.NONE());
    rows = new FrameRows(getHandle());
    waiting = waits() ? new WaitingRows(getHandle()) : null;
    held = new TreeMap<>();
    int count = frames.size() + lags.length;
    StructType type = new StructType();
    for (int i = 0; i < count; i++) {
      type = type.add("f" + i, DataTypes.BinaryType);
    }
    packed = UnsafeProjection.create(type);
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<OverRow> out) {
    if (row.getRow() == null) {
      return;
    }
    load();
    long time = row.getTime();
    if (isLate(time, times.getCurrentWatermarkInMs())) {
      late(time, Math.max(last, times.getCurrentWatermarkInMs()));
      return;
    }
    UnsafeRow pair = new UnsafeRow(2);
    pair.pointTo(row.getRow(), row.getRow().length);
    var taken = new WaitingRows.Row(pair.getBinary(0), row.getHeaders(), pair.getBinary(1));
    if (grace == AT_ONCE) {
      take(key, time, List.of(taken), out);
    } else if (grace == AT_THE_END) {
      held.computeIfAbsent(time, t -> new ArrayList<>()).add(taken);
    } else if (waiting.add(time, taken)) {
      getHandle().registerTimer(time + grace + 1);
    }
  }

  /** Whether a later row was a result; for a deleted key, whether one may have been. */
  private boolean isLate(long time, long watermark) {
    if (grace == AT_THE_END) {
      return false;
    }
    if (time < last || (waits() && time == last)) {
      return true;
    }
    return last == Long.MIN_VALUE && forgets() && watermark > 0 && time + kept() < watermark;
  }

  /** Rows of one time are the results that come next. */
  private void take(byte[] key, long time, List<WaitingRows.Row> group, List<OverRow> out) {
    last = time;
    byte[][][] made = new byte[group.size()][frames.size() + lags.length][];
    for (int i = 0; i < made.length; i++) {
      byte[] values = group.get(i).values;
      rows.add(time, values);
      for (int f = 0; f < frames.size(); f++) {
        OverFrame frame = frames.get(f);
        if (frame.unbounded()) {
          buffers.get(f).update(total(f), row(values));
        }
        if (!frame.peers()) {
          made[i][f] = result(f);
        }
      }
      for (int l = 0; l < lags.length; l++) {
        made[i][frames.size() + l] = rows.before(lags[l]);
      }
    }
    for (int f = 0; f < frames.size(); f++) {
      if (frames.get(f).peers()) {
        byte[] ofAll = result(f);
        for (byte[][] ofRow : made) {
          ofRow[f] = ofAll;
        }
      }
    }
    for (int i = 0; i < made.length; i++) {
      WaitingRows.Row row = group.get(i);
      byte[] parts = packed.apply(new GenericInternalRow(made[i])).copy().getBytes();
      out.add(new OverRow(key, time, row.headers, row.row, parts));
    }
    long span = span();
    rows.keep(depth(), span < 0 ? Long.MAX_VALUE : time - span);
  }

  /** The frame's current aggregates. */
  private byte[] result(int f) {
    AggregateBuffers own = buffers.get(f);
    OverFrame frame = frames.get(f);
    if (frame.unbounded()) {
      return own.result(total(f));
    }
    InternalRow buffer = own.create();
    for (int place = frame.start(rows); place < rows.size(); place++) {
      own.update(buffer, row(rows.values(place)));
    }
    return own.result(buffer);
  }

  private InternalRow total(int f) {
    if (totals[f] == null) {
      totals[f] = stored[f] == null ? buffers.get(f).create() : buffers.get(f).load(stored[f]);
    }
    return totals[f];
  }

  private UnsafeRow row(byte[] values) {
    UnsafeRow row = new UnsafeRow(columns);
    row.pointTo(values, values.length);
    return row;
  }

  @Override
  public Iterator<OverRow> handleExpiredTimer(
      byte[] key, TimerValues times, ExpiredTimerInfo expired) {
    List<OverRow> out = new ArrayList<>();
    load();
    long now = expired.getExpiryTimeInMs();
    if (waits()) {
      long time = now - grace - 1;
      List<WaitingRows.Row> group = waiting.take(time);
      if (!group.isEmpty()) {
        take(key, time, group, out);
      }
    }
    if (now >= timer) {
      timer = NEVER;
      if (last + kept() < times.getCurrentWatermarkInMs()) {
        forget();
      }
    }
    finish(key, times, out);
    return CollectionConverters.asScala(out.iterator());
  }

  private void load() {
    if (loaded) {
      return;
    }
    loaded = true;
    last = Long.MIN_VALUE;
    timer = NEVER;
    stored = new byte[frames.size()][];
    totals = new InternalRow[frames.size()];
    byte[] bytes = head.get();
    if (bytes == null) {
      rows.load(0, 0);
      return;
    }
    ByteBuffer in = ByteBuffer.wrap(bytes);
    last = in.getLong();
    timer = in.getLong();
    rows.load(in.getInt(), in.getInt());
    for (int f = 0; f < stored.length; f++) {
      if (frames.get(f).unbounded()) {
        stored[f] = new byte[in.getInt()];
        in.get(stored[f]);
      }
    }
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<OverRow> out) {
    for (Map.Entry<Long, List<WaitingRows.Row>> entry : held.entrySet()) {
      take(key, entry.getKey(), entry.getValue(), out);
    }
    held.clear();
    if (loaded && last != Long.MIN_VALUE) {
      save();
    }
    loaded = false;
  }

  private void save() {
    if (timer == NEVER && forgets()) {
      timer = last + kept() + 1;
      getHandle().registerTimer(timer);
    }
    rows.store();
    int size = 2 * Long.BYTES + 2 * Integer.BYTES;
    for (int f = 0; f < stored.length; f++) {
      if (frames.get(f).unbounded()) {
        stored[f] = buffers.get(f).store(total(f));
        size += Integer.BYTES + stored[f].length;
      }
    }
    ByteBuffer out = ByteBuffer.allocate(size).putLong(last).putLong(timer);
    out.putInt(rows.firstChunk()).putInt(rows.nextChunk());
    for (int f = 0; f < stored.length; f++) {
      if (frames.get(f).unbounded()) {
        out.putInt(stored[f].length).put(stored[f]);
      }
    }
    head.update(out.array());
  }

  private void forget() {
    rows.clear();
    head.clear();
    last = Long.MIN_VALUE;
  }
}
