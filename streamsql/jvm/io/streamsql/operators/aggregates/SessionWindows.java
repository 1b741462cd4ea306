package io.streamsql.operators.aggregates;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Aggregates in session windows: rows of a key that follow each other within the gap. A row between
 * two sessions merges them. The first column of a row is the stream time of its partition: a row
 * may be late in one partition and not in another that is behind.
 *
 * <p>State per key: the bounds of its sessions, with a buffer each, until the watermark (for final
 * results: stream time) has passed their end by gap and grace. One timer per key, at the end of the
 * first session to expire.
 */
public final class SessionWindows extends KeyedOperator<AggregatedRow> {
  private static final long serialVersionUID = 1L;
  private static final long NEVER = Long.MAX_VALUE;
  private final AggregateBuffers buffers;
  private final int columns;
  private final long gap;
  private final long grace;
  private final boolean updates;
  private transient ValueState<byte[]> bounds;
  private transient MapState<Long, byte[]> stored;
  private transient TreeMap<Long, Session> sessions;
  private transient boolean changed;
  private transient long timer;

  /** A session of the current key; its buffer is read on use. */
  private static final class Session {
    final long start;
    final long end;
    InternalRow buffer;

    Session(long start, long end, InternalRow buffer) {
      this.start = start;
      this.end = end;
      this.buffer = buffer;
    }
  }

  /**
   * @param columns the number of a row's columns
   * @param gap in ms, as is grace
   * @param updates whether every change of a session is a result (and its old bounds a deletion),
   *     or only its final state
   */
  public SessionWindows(
      AggregateBuffers buffers, int columns, long gap, long grace, boolean updates) {
    this.buffers = buffers;
    this.columns = columns;
    this.gap = gap;
    this.grace = grace;
    this.updates = updates;
  }

  @Override
  protected Encoder<AggregatedRow> results() {
    return Encoders.bean(AggregatedRow.class);
  }

  @Override
  protected boolean timed() {
    return true;
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    bounds = getHandle().getValueState("bounds", Encoders.BINARY(), TTLConfig.NONE());
    stored =
        getHandle().getMapState("buffers", Encoders.LONG(), Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<AggregatedRow> out) {
    if (row.getRow() == null) {
      return;
    }
    load();
    UnsafeRow values = new UnsafeRow(columns);
    values.pointTo(row.getRow(), row.getRow().length);
    long passed = firstOpenEnd(times.getCurrentWatermarkInMs());
    long open = Math.max(firstOpenEnd(values.getLong(0)), passed);
    close(key, updates ? passed : open, out);
    long time = row.getTime();
    List<Session> met = within(time, open);
    long start = met.isEmpty() ? time : Math.min(time, met.get(0).start);
    long end = time;
    for (Session session : met) {
      end = Math.max(end, session.end);
    }
    if (end < open) {
      late(time, open + gap + grace);
      return;
    }
    Session session = new Session(start, end, merged(met));
    buffers.update(session.buffer, values);
    for (Session old : met) {
      sessions.remove(old.start);
      boolean moved = old.start != start || old.end != end;
      if (old.start != start) {
        stored.removeKey(old.start);
      }
      if (updates && moved) {
        out.add(new AggregatedRow(key, old.end, old.start, old.end, row.getHeaders(), null));
      }
    }
    sessions.put(start, session);
    changed = true;
    if (updates) {
      byte[] result = buffers.result(session.buffer);
      out.add(new AggregatedRow(key, end, start, end, row.getHeaders(), result));
    }
  }

  /** Sessions that end before this are closed. */
  private long firstOpenEnd(long streamTime) {
    return streamTime - gap - grace;
  }

  /** The open sessions that a row of this time belongs to, the earliest first. */
  private List<Session> within(long time, long open) {
    List<Session> met = new ArrayList<>();
    // Sessions do not overlap: from the latest backwards, the first that ends too early is the
    // last.
    for (Session session : sessions.headMap(time + gap, true).descendingMap().values()) {
      if (session.end < Math.max(time - gap, open)) {
        break;
      }
      met.add(0, session);
    }
    return met;
  }

  private InternalRow merged(List<Session> met) {
    if (met.isEmpty()) {
      return buffers.create();
    }
    InternalRow merged = buffer(met.get(0));
    for (Session other : met.subList(1, met.size())) {
      byte[] bytes =
          other.buffer != null ? buffers.store(other.buffer) : stored.getValue(other.start);
      buffers.merge(merged, bytes);
    }
    return merged;
  }

  private InternalRow buffer(Session session) {
    if (session.buffer == null) {
      session.buffer = buffers.load(stored.getValue(session.start));
    }
    return session.buffer;
  }

  /** Deletes the sessions whose time has passed; if results are final, emits them. */
  private void close(byte[] key, long open, List<AggregatedRow> out) {
    while (!sessions.isEmpty() && sessions.firstEntry().getValue().end < open) {
      Session session = sessions.pollFirstEntry().getValue();
      if (!updates) {
        byte[] result = buffers.result(buffer(session));
        out.add(new AggregatedRow(key, session.end, session.start, session.end, null, result));
      }
      stored.removeKey(session.start);
      changed = true;
    }
  }

  @Override
  public Iterator<AggregatedRow> handleExpiredTimer(
      byte[] key, TimerValues times, ExpiredTimerInfo expired) {
    List<AggregatedRow> out = new ArrayList<>();
    load();
    if (expired.getExpiryTimeInMs() >= timer) {
      timer = NEVER;
      changed = true;
    }
    close(key, firstOpenEnd(times.getCurrentWatermarkInMs()), out);
    finish(key, times, out);
    return CollectionConverters.asScala(out.iterator());
  }

  private void load() {
    if (sessions != null) {
      return;
    }
    sessions = new TreeMap<>();
    timer = NEVER;
    changed = false;
    byte[] bytes = bounds.get();
    if (bytes == null) {
      return;
    }
    ByteBuffer in = ByteBuffer.wrap(bytes);
    timer = in.getLong();
    while (in.hasRemaining()) {
      long start = in.getLong();
      sessions.put(start, new Session(start, in.getLong(), null));
    }
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<AggregatedRow> out) {
    if (sessions != null && changed) {
      save();
    }
    sessions = null;
  }

  private void save() {
    if (sessions.isEmpty()) {
      bounds.clear(); // a timer that is left finds nothing
      return;
    }
    long due = sessions.firstEntry().getValue().end + gap + grace + 1;
    if (due < timer) {
      getHandle().registerTimer(due);
      timer = due;
    }
    ByteBuffer bytes = ByteBuffer.allocate(8 + 16 * sessions.size()).putLong(timer);
    for (Map.Entry<Long, Session> entry : sessions.entrySet()) {
      Session session = entry.getValue();
      bytes.putLong(session.start).putLong(session.end);
      if (session.buffer != null) {
        stored.updateValue(session.start, buffers.store(session.buffer));
      }
    }
    bounds.update(bytes.array());
  }
}
