package io.streamsql.operators.joins;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Joins two streams (sides 0 and 1): each row with the earlier rows of the other side within the
 * {@link JoinWindow}. A row of an outer side without a partner is a result by itself: at once, or,
 * if it is held, when its window has closed.
 *
 * <p>The stream time is that of the latest row: of the key, or as of the last batch of any key (the
 * watermark). State: the rows of both sides until their time has passed. If it never passes and no
 * row is held, neither time nor timers are kept: nothing depends on them.
 */
public final class StreamStreamJoin extends KeyedOperator<JoinedRow> {
  private static final long serialVersionUID = 1L;
  private static final long NEVER = Long.MAX_VALUE;
  // After a longer jump in time the times at which the key's windows close decide what is due, not
  // a scan of the buckets.
  private static final long MOST_BUCKETS = 1000;

  /** A held row, and when it is released. */
  private record Waiting(int side, long close, JoinWindowRows.Place place) {}

  private final JoinWindow window;
  private final boolean[] alone;
  private final boolean held;
  private final boolean timeless;
  private final JoinCondition condition; // null: none
  private transient JoinWindowRows rows;
  private transient ValueState<byte[]> times;
  private transient boolean known;
  private transient boolean changed;
  private transient long latest;
  private transient long nextClose;
  private transient long waiting;

  /** When buckets that the batch has begun are forgotten. */
  private transient Set<Long> forgotten;

  /** When windows of rows that the batch has held close. */
  private transient Set<Long> closing;

  /** An equi-join. */
  public StreamStreamJoin(
      long before, long after, long grace, boolean leftAlone, boolean rightAlone, boolean held) {
    this(before, after, grace, leftAlone, rightAlone, held, null);
  }

  /**
   * @param before,after,grace see {@link JoinWindow}, ms
   * @param leftAlone whether a left row without a right one is a result (LEFT, FULL)
   * @param rightAlone whether a right row without a left one is a result (RIGHT, FULL)
   * @param held whether such a row is held until its window has closed
   * @param condition the further condition; null: none
   */
  public StreamStreamJoin(
      long before,
      long after,
      long grace,
      boolean leftAlone,
      boolean rightAlone,
      boolean held,
      JoinCondition condition) {
    this.condition = condition;
    this.window = new JoinWindow(before, after, grace);
    this.alone = new boolean[] {leftAlone, rightAlone};
    this.held = held;
    this.timeless = window.isForever() && !awaitsTime();
  }

  @Override
  protected Encoder<JoinedRow> results() {
    return Encoders.bean(JoinedRow.class);
  }

  @Override
  protected boolean timed() {
    return true;
  }

  @Override
  protected boolean awaitsTime() {
    return held && (alone[0] || alone[1]);
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    rows = new JoinWindowRows(getHandle(), window);
    times = getHandle().getValueState("times", Encoders.BINARY(), TTLConfig.NONE());
    forgotten = new HashSet<>();
    closing = new HashSet<>();
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues timers, List<JoinedRow> out) {
    if (row.getRow() == null) {
      return;
    }
    long now = timeless ? row.getTime() : advance(row.getTime(), timers);
    closeUntil(now, key, out);
    boolean met = meet(key, row, now, out);
    boolean waits = !met && alone[row.getSide()];
    if (!met && !waits && row.getTime() <= window.goneUntil(now)) {
      late(row.getTime(), now);
      return;
    }
    if (waits && (!held || window.closedAt(row.getSide(), row.getTime()) <= now)) {
      out.add(joined(key, row.getTime(), row.getHeaders(), row.getSide(), row.getRow(), null));
      waits = false;
    }
    if (waits || row.getTime() > window.goneUntil(now)) {
      keep(row, waits);
    }
  }

  /** The stream time including this row. */
  private long advance(long time, TimerValues timers) {
    load();
    if (time > latest) {
      latest = time;
      changed = true;
    }
    return Math.max(latest, timers.getCurrentWatermarkInMs());
  }

  /** The row's partners on the other side, in time order. */
  private boolean meet(byte[] key, KeyedRow row, long now, List<JoinedRow> out) {
    int side = row.getSide();
    long time = row.getTime();
    long from = Math.max(window.from(side, time), window.goneUntil(now) + 1);
    List<JoinWindowRows.Place> found = rows.between(1 - side, from, window.to(side, time));
    if (condition != null) {
      byte[] own = row.getRow();
      found.removeIf(
          other ->
              !(side == 0 ? condition.met(own, other.row()) : condition.met(other.row(), own)));
    }
    found.sort(Comparator.comparingLong(JoinWindowRows.Place::time));
    for (JoinWindowRows.Place other : found) {
      if (other.waits()) {
        other.stopWaiting();
        waiting--;
        changed = true;
      }
      long later = Math.max(time, other.time());
      out.add(joined(key, later, row.getHeaders(), side, row.getRow(), other.row()));
    }
    return !found.isEmpty();
  }

  private static JoinedRow joined(
      byte[] key, long time, byte[] headers, int side, byte[] row, byte[] other) {
    return side == 0
        ? new JoinedRow(key, time, headers, row, other)
        : new JoinedRow(key, time, headers, other, row);
  }

  private void keep(KeyedRow row, boolean waits) {
    int side = row.getSide();
    long time = row.getTime();
    if (rows.add(side, time, waits, row.getRow()) && !timeless) {
      forgotten.add(window.forgottenAt(rows.lastOf(time)));
    }
    if (waits) {
      long close = window.closedAt(side, time);
      closing.add(close);
      nextClose = Math.min(nextClose, close);
      waiting++;
      changed = true;
    }
  }

  /** Emits the key's held rows without a partner, in the order of their windows' ends. */
  private void closeUntil(long now, byte[] key, List<JoinedRow> out) {
    if (waiting == 0 || now < nextClose) {
      return;
    }
    List<Waiting> due = new ArrayList<>();
    if ((now - nextClose) / window.bucket() > MOST_BUCKETS) {
      Set<Long> times = new HashSet<>(closing);
      getHandle().listTimers().foreach(time -> times.add((Long) time));
      for (long time : times) {
        if (time >= nextClose && time <= now) {
          findWaiting(time, time, due);
        }
      }
    } else {
      findWaiting(nextClose, now, due);
    }
    due.sort(Comparator.comparingLong(Waiting::close));
    due.forEach(row -> letGo(row, key, out));
    nextClose = closeAfter(now);
    changed = true;
  }

  /** The held rows whose windows close in that span of the stream time. */
  private void findWaiting(long from, long to, List<Waiting> found) {
    for (int side = 0; side < alone.length; side++) {
      if (!alone[side] || !held) {
        continue;
      }
      long last = window.timeClosedAt(side, to);
      for (JoinWindowRows.Place row : rows.between(side, window.timeClosedAt(side, from), last)) {
        if (row.waits()) {
          found.add(new Waiting(side, window.closedAt(side, row.time()), row));
        }
      }
    }
  }

  private void letGo(Waiting row, byte[] key, List<JoinedRow> out) {
    row.place().stopWaiting();
    waiting--;
    out.add(joined(key, row.place().time(), null, row.side(), row.place().row(), null));
  }

  /** The next time to check: no held row closes earlier; one may close later. */
  private long closeAfter(long now) {
    if (waiting == 0) {
      return NEVER;
    }
    long next = NEVER;
    for (int side = 0; side < alone.length; side++) {
      long time = window.timeClosedAt(side, now);
      next = Math.min(next, window.closedAt(side, rows.lastOf(time) + 1));
    }
    List<Waiting> soon = new ArrayList<>();
    findWaiting(now + 1, next, soon);
    for (Waiting row : soon) {
      next = Math.min(next, row.close());
    }
    return next;
  }

  @Override
  public Iterator<JoinedRow> handleExpiredTimer(
      byte[] key, TimerValues timers, ExpiredTimerInfo expired) {
    List<JoinedRow> out = new ArrayList<>();
    long now = expired.getExpiryTimeInMs();
    load();
    List<Waiting> due = new ArrayList<>();
    findWaiting(now, now, due);
    due.forEach(row -> letGo(row, key, out));
    changed |= !due.isEmpty();
    long gone = window.timeForgottenAt(now);
    if (rows.isLast(gone)) {
      drop(gone);
      if (latest <= gone) {
        times.clear();
        changed = false;
      }
    }
    finish(key, timers, out);
    return CollectionConverters.asScala(out.iterator());
  }

  private void drop(long gone) {
    rows.drop(0, gone);
    rows.drop(1, gone);
  }

  /**
   * Registers what the key's rows wait for. What their stream time has passed by the end of their
   * batch, as in a catch-up nearly all of it, takes neither timers nor state.
   */
  private void register(TimerValues timers) {
    if (forgotten.isEmpty() && closing.isEmpty()) {
      return;
    }
    long now = Math.max(latest, timers.getCurrentWatermarkInMs());
    for (long time : forgotten) {
      if (time <= now) {
        drop(window.timeForgottenAt(time));
      } else {
        getHandle().registerTimer(time);
      }
    }
    closing.stream().filter(time -> time > now).forEach(getHandle()::registerTimer);
    forgotten.clear();
    closing.clear();
  }

  private void load() {
    if (known) {
      return;
    }
    byte[] stored = times.get();
    latest = stored == null ? Long.MIN_VALUE : ByteBuffer.wrap(stored).getLong();
    nextClose = stored == null ? NEVER : ByteBuffer.wrap(stored).getLong(Long.BYTES);
    waiting = stored == null ? 0 : ByteBuffer.wrap(stored).getLong(2 * Long.BYTES);
    known = true;
  }

  @Override
  protected void finish(byte[] key, TimerValues timers, List<JoinedRow> out) {
    register(timers);
    if (changed) {
      ByteBuffer stored = ByteBuffer.allocate(3 * Long.BYTES);
      times.update(stored.putLong(latest).putLong(nextClose).putLong(waiting).array());
    }
    rows.store();
    known = false;
    changed = false;
  }
}
