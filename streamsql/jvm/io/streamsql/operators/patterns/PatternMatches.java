package io.streamsql.operators.patterns;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import io.streamsql.operators.aggregates.WaitingRows;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Emits a row for each match of a pattern among the rows of a key, in time order. The earliest row
 * that may begin a match is tried with all rows after it, until it is decided; if matches may
 * overlap, all such rows are tried at a time.
 *
 * <p>State per key: the time of its last row, the attempts that have begun, and the rows that they
 * and later ones may need. If a match has a time limit, a timer decides it then, and a key is
 * deleted when no attempt is open. With a grace, also the rows that wait for earlier ones, each
 * with a timer.
 */
public final class PatternMatches extends KeyedOperator<MatchRow> {
  /** Rows do not wait: one that arrives after a later one is late. */
  public static final long AT_ONCE = -1;

  /** Input is bounded; rows wait until its end. */
  public static final long AT_THE_END = Long.MAX_VALUE;

  /** A match has no time limit. */
  public static final long FOR_EVER = -1;

  private static final long serialVersionUID = 1L;
  private static final long NEVER = Long.MAX_VALUE;
  private static final int HEAD = 3 * Long.BYTES + Integer.BYTES;
  private final MatchProgram program;
  private final MatchConditions conditions;
  private final MatchResults results;
  private final SkipRule skip;
  private final long within;
  private final long grace;
  private transient ValueState<byte[]> head;
  private transient MatchRows rows;
  private transient WaitingRows waiting;
  private transient History history;
  private transient TreeMap<Long, List<byte[]>> held;
  private transient List<Attempt> attempts;
  private transient boolean loaded;
  private transient long last; // no earlier row is taken any more
  private transient long timer;
  private transient long begin; // the number of the row with which the next attempt begins

  /**
   * @param program see {@link MatchProgram#parse}
   * @param skip see {@link SkipRule#parse}
   * @param within the time limit of a match after its first row (exclusive), in ms; or FOR_EVER
   * @param grace how long a row waits for earlier ones, in ms; or AT_ONCE, AT_THE_END
   */
  public PatternMatches(
      String program,
      MatchConditions conditions,
      MatchResults results,
      String skip,
      long within,
      long grace) {
    this.program = MatchProgram.parse(program);
    this.conditions = conditions;
    this.results = results;
    this.skip = SkipRule.parse(skip);
    this.within = within;
    this.grace = grace;
  }

  @Override
  protected Encoder<MatchRow> results() {
    return Encoders.bean(MatchRow.class);
  }

  @Override
  protected boolean timed() {
    return grace != AT_THE_END && (waits() || within != FOR_EVER);
  }

  private boolean waits() {
    return grace != AT_ONCE && grace != AT_THE_END;
  }

  /** How far the known time is beyond that of the rows. */
  private long delay() {
    return waits() ? grace : 0;
  }

  /** Whether time alone decides that a key's state can be deleted. */
  private boolean forgets() {
    return within != FOR_EVER && depth() == 0;
  }

  /** The number of rows before a match that are read. */
  private int depth() {
    int most = conditions.places().stream().mapToInt(RowPlace::back).max().orElse(0);
    return Math.max(most, results.places().stream().mapToInt(RowPlace::back).max().orElse(0));
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    head = getHandle().getValueState("head", Encoders.BINARY(), TTLConfig.NONE());
    rows = new MatchRows(getHandle());
    waiting = waits() ? new WaitingRows(getHandle()) : null;
    history = new History(conditions.places(), conditions.totals());
    held = new TreeMap<>();
    attempts = new ArrayList<>();
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<MatchRow> out) {
    if (row.getRow() == null) {
      return;
    }
    load();
    long time = row.getTime();
    if (isLate(time, times.getCurrentWatermarkInMs())) {
      late(time, Math.max(last, times.getCurrentWatermarkInMs()));
    } else if (grace == AT_ONCE) {
      take(key, time, row.getRow(), out);
    } else if (grace == AT_THE_END) {
      held.computeIfAbsent(time, t -> new ArrayList<>()).add(row.getRow());
    } else if (waiting.add(time, new WaitingRows.Row(row.getRow(), null, new byte[0]))) {
      getHandle().registerTimer(time + grace + 1);
    }
  }

  /**
   * Whether a later row has been taken. If rows wait, also whether time has decided a match that
   * the row could have been part of; the same applies to a deleted key. If they do not wait, the
   * time of other partitions of a topic may be far ahead, for example in a catch-up: then only rows
   * of the same key make a row late.
   */
  private boolean isLate(long time, long watermark) {
    if (grace == AT_THE_END) {
      return false;
    }
    if (time < last || (waits() && time == last)) {
      return true;
    }
    boolean forgotten = last == Long.MIN_VALUE && forgets() && waits();
    return forgotten && watermark > 0 && time + kept() < watermark;
  }

  /** When a key that can be deleted is, in ms after its last row. */
  private long kept() {
    return within + delay();
  }

  // -- matches -------------------------------------------------------------------------------

  private void take(byte[] key, long time, byte[] values, List<MatchRow> out) {
    last = time;
    rows.add(time, values);
    advance(key, out);
  }

  /** Tries all rows, as far as they decide. */
  private void advance(byte[] key, List<MatchRow> out) {
    while (begin < rows.end()) {
      if (skip.overlapping()) {
        attempts.add(attempt(begin));
        step(key, out, ++begin);
      } else {
        if (attempts.isEmpty()) {
          attempts.add(attempt(begin));
        }
        Attempt attempt = attempts.get(0);
        while (!attempt.decided() && attempt.next() < rows.end()) {
          step(attempt);
        }
        if (!attempt.decided()) {
          return;
        }
        conclude(key, attempt, out);
      }
    }
  }

  private Attempt attempt(long row) {
    return Attempt.at(row, rows.time(row), program, conditions.totals().size());
  }

  /** Gives all attempts the rows up to before that number. */
  private void step(byte[] key, List<MatchRow> out, long end) {
    for (Attempt attempt : List.copyOf(attempts)) {
      while (!attempt.decided() && attempt.next() < end) {
        step(attempt);
      }
      if (attempt.decided()) {
        conclude(key, attempt, out);
      }
    }
  }

  private void step(Attempt attempt) {
    if (within != FOR_EVER && rows.time(attempt.next()) - attempt.time() >= within) {
      attempt.end();
      return;
    }
    attempt.step(
        program,
        history,
        (start, labels, variable, before) ->
            conditions.taken(rows, start, labels, variable, before));
  }

  /** Ends the attempt: what it has found is a match. */
  private void conclude(byte[] key, Attempt attempt, List<MatchRow> out) {
    attempts.remove(attempt);
    Labels found = attempt.found();
    if (found != null) {
      long time = rows.time(attempt.start() + found.length() - 1);
      out.add(new MatchRow(key, time, results.of(rows, attempt.start(), found)));
    }
    if (!skip.overlapping()) {
      begin = found == null ? attempt.start() + 1 : skip.next(attempt.start(), found);
    }
  }

  /** Decides what ends by that time; if rows wait, all earlier ones have arrived. */
  private void expire(byte[] key, long time, List<MatchRow> out) {
    while (!attempts.isEmpty() && end(attempts.get(0)) <= time) {
      if (waits()) {
        last = Math.max(last, end(attempts.get(0)) - 1);
      }
      conclude(key, attempts.get(0), out);
      advance(key, out);
    }
  }

  /** When time decides an attempt. */
  private long end(Attempt attempt) {
    return attempt.time() + within;
  }

  // -- times ---------------------------------------------------------------------------------

  @Override
  public scala.collection.Iterator<MatchRow> handleExpiredTimer(
      byte[] key, TimerValues times, ExpiredTimerInfo expired) {
    List<MatchRow> out = new ArrayList<>();
    load();
    long now = expired.getExpiryTimeInMs();
    if (waits()) {
      long time = now - grace - 1;
      for (WaitingRows.Row row : waiting.take(time)) {
        take(key, time, row.values(), out);
      }
    }
    if (now >= timer) {
      long watermark = times.getCurrentWatermarkInMs();
      timer = NEVER;
      expire(key, waits() ? now - grace : watermark, out);
      if (attempts.isEmpty() && forgets() && last + kept() < watermark) {
        forget();
      }
    }
    finish(key, times, out);
    return CollectionConverters.asScala(out.iterator());
  }

  private void forget() {
    rows.keep(rows.end());
    rows.clear();
    head.clear();
    last = Long.MIN_VALUE;
    begin = 0;
  }

  // -- state ---------------------------------------------------------------------------------

  private void load() {
    if (loaded) {
      return;
    }
    loaded = true;
    last = Long.MIN_VALUE;
    timer = NEVER;
    begin = 0;
    attempts.clear();
    byte[] bytes = head.get();
    if (bytes == null) {
      rows.clear();
      return;
    }
    ByteBuffer in = ByteBuffer.wrap(bytes);
    last = in.getLong();
    timer = in.getLong();
    begin = in.getLong();
    rows.load(in);
    for (int count = in.getInt(); count > 0; count--) {
      attempts.add(Attempt.load(in, conditions.totals().size()));
    }
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<MatchRow> out) {
    for (Map.Entry<Long, List<byte[]>> entry : held.entrySet()) {
      for (byte[] values : entry.getValue()) {
        take(key, entry.getKey(), values, out);
      }
    }
    held.clear();
    if (grace == AT_THE_END) {
      while (!attempts.isEmpty()) {
        conclude(key, attempts.get(0), out);
        advance(key, out);
      }
    }
    if (loaded && last != Long.MIN_VALUE) {
      save();
    }
    loaded = false;
  }

  private void save() {
    await();
    rows.keep((attempts.isEmpty() ? begin : attempts.get(0).start()) - depth());
    int size = HEAD + rows.size();
    for (Attempt attempt : attempts) {
      size += attempt.size();
    }
    ByteBuffer out = ByteBuffer.allocate(size).putLong(last).putLong(timer).putLong(begin);
    rows.store(out);
    out.putInt(attempts.size());
    for (Attempt attempt : attempts) {
      attempt.store(out);
    }
    head.update(out.array());
  }

  /** Sets a timer where time alone decides something, unless an earlier one is set. */
  private void await() {
    if (!timed() || within == FOR_EVER) {
      return;
    }
    long due = NEVER;
    if (!attempts.isEmpty()) {
      due = end(attempts.get(0)) + delay();
    } else if (forgets()) {
      due = last + kept() + 1;
    }
    if (due < timer) {
      timer = due;
      getHandle().registerTimer(due);
    }
  }
}
