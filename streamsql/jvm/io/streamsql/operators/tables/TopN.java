package io.streamsql.operators.tables;

import io.streamsql.operators.KeyedOperator;
import io.streamsql.operators.KeyedRow;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.PriorityQueue;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * The first rows of each group by an order, each under its number from 1. Input rows are changes:
 * pairs of BINARY, the row that is removed (null: none) and the one that is added. Results are the
 * numbers whose row, or its rank, has changed in a batch.
 *
 * <p>State, of each group: the first rows in order and, if rows can be removed, the others, too, of
 * which the best move up. Every one of the others comes after all of the first.
 */
public final class TopN extends KeyedOperator<RankedRow> {
  private static final long serialVersionUID = 1L;
  private final RowRanking ranking;
  private final int count;
  private final boolean retracts;
  private final Ranks ranks;
  private transient ValueState<byte[]> stored;
  private transient MapState<byte[], byte[]> others;
  private transient List<byte[]> first;
  private transient List<byte[]> before;
  private transient long[] ranksBefore;
  private transient long waiting;
  private transient long time;

  /** The ranking of rows that are equal in the order. */
  private enum Ranks {
    ROW_NUMBER,
    RANK,
    DENSE_RANK
  }

  /**
   * @param type of a row, as JSON; see {@link RowRanking}
   * @param count the last rank in the result
   * @param retracts whether rows are removed
   * @param ranks ROW_NUMBER, RANK or DENSE_RANK: how a row's rank is counted
   */
  public TopN(String type, String directions, int count, boolean retracts, String ranks) {
    this.ranks = Ranks.valueOf(ranks);
    this.ranking = new RowRanking((StructType) DataType.fromJson(type), directions);
    this.count = count;
    this.retracts = retracts;
  }

  @Override
  protected Encoder<RankedRow> results() {
    return Encoders.bean(RankedRow.class);
  }

  @Override
  public void init(OutputMode mode, TimeMode timeMode) {
    stored = getHandle().getValueState("first", Encoders.BINARY(), TTLConfig.NONE());
    others =
        getHandle().getMapState("others", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
  }

  /** The number of rows that are kept in order: spares delay the scan of the others. */
  private int capacity() {
    return retracts ? 2 * count + 16 : count;
  }

  @Override
  protected void process(byte[] key, KeyedRow row, TimerValues times, List<RankedRow> out) {
    load();
    UnsafeRow change = new UnsafeRow(2);
    change.pointTo(row.getRow(), row.getRow().length);
    time = Math.max(time, row.getTime());
    byte[] gone = change.isNullAt(0) ? null : change.getBinary(0);
    byte[] come = change.isNullAt(1) ? null : change.getBinary(1);
    if (gone != null) {
      remove(gone);
    }
    if (come != null) {
      add(come);
    }
  }

  private void add(byte[] row) {
    int place = first.size();
    while (place > 0 && ranking.compare(row, first.get(place - 1)) < 0) {
      place--;
    }
    if (place == first.size() && waiting > 0) {
      setAside(row);
      return;
    }
    first.add(place, row);
    int kept = Math.max(capacity(), wanted());
    while (first.size() > kept) {
      setAside(first.remove(first.size() - 1));
    }
  }

  /** How many of the first rows have a rank in the result. */
  private int wanted() {
    if (ranks == Ranks.DENSE_RANK) {
      int others = 0;
      for (int i = 0; i < first.size(); i++) {
        if ((i == 0 || !tied(i)) && others++ == count) {
          return i;
        }
      }
      return first.size();
    }
    int number = Math.min(count, first.size());
    while (ranks == Ranks.RANK && number > 0 && number < first.size() && tied(number)) {
      number++;
    }
    return number;
  }

  /** Whether the row at the index is equal to the one before it. */
  private boolean tied(int place) {
    return ranking.ties(first.get(place - 1), first.get(place));
  }

  /** The ranks of the first rows. */
  private long[] ranks(int number) {
    long[] found = new long[number];
    for (int i = 0; i < number; i++) {
      if (ranks == Ranks.ROW_NUMBER || i == 0 || !tied(i)) {
        found[i] = ranks == Ranks.DENSE_RANK && i > 0 ? found[i - 1] + 1 : i + 1;
      } else {
        found[i] = found[i - 1];
      }
    }
    return found;
  }

  private void setAside(byte[] row) {
    if (retracts) {
      others.updateValue(ranking.id(row), row);
      waiting++;
    }
  }

  private void remove(byte[] row) {
    byte[] id = ranking.id(row);
    for (int i = 0; i < first.size(); i++) {
      if (Arrays.equals(ranking.id(first.get(i)), id)) {
        first.remove(i);
        return;
      }
    }
    if (others.containsKey(id)) {
      others.removeKey(id);
      waiting--;
    }
  }

  /** Whether none of the others has a rank in the result. */
  private boolean complete() {
    if (waiting == 0) {
      return true;
    }
    return ranks == Ranks.ROW_NUMBER ? first.size() >= count : wanted() < first.size();
  }

  /** Moves the best of the others up. */
  private void refill() {
    int room = Math.max(capacity() - first.size(), count);
    PriorityQueue<byte[]> best = new PriorityQueue<>(ranking.reversed());
    Iterator<Tuple2<byte[], byte[]>> all = others.iterator();
    while (all.hasNext()) {
      best.add(all.next()._2());
      if (best.size() > room) {
        best.poll();
      }
    }
    List<byte[]> found = new ArrayList<>(best);
    found.sort(ranking);
    for (byte[] row : found) {
      others.removeKey(ranking.id(row));
      waiting--;
      first.add(row);
    }
  }

  private void load() {
    if (first != null) {
      return;
    }
    first = new ArrayList<>();
    waiting = 0;
    time = Long.MIN_VALUE;
    byte[] bytes = stored.get();
    if (bytes != null) {
      ByteBuffer in = ByteBuffer.wrap(bytes);
      waiting = in.getLong();
      while (in.hasRemaining()) {
        byte[] row = new byte[in.getInt()];
        in.get(row);
        first.add(row);
      }
    }
    before = List.copyOf(first.subList(0, wanted()));
    ranksBefore = ranks(before.size());
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<RankedRow> out) {
    while (!complete()) {
      refill();
    }
    long[] now = ranks(wanted());
    for (int i = 0; i < Math.max(now.length, before.size()); i++) {
      byte[] row = i < now.length ? first.get(i) : null;
      long rank = i < now.length ? now[i] : 0;
      boolean same = i < before.size() && Arrays.equals(row, before.get(i));
      if (!same || (row != null && rank != ranksBefore[i])) {
        out.add(new RankedRow(key, i + 1, rank, time, row));
      }
    }
    save();
    first = null;
  }

  private void save() {
    if (first.isEmpty()) {
      stored.clear();
      return;
    }
    int size = 8;
    for (byte[] row : first) {
      size += 4 + row.length;
    }
    ByteBuffer bytes = ByteBuffer.allocate(size).putLong(waiting);
    for (byte[] row : first) {
      bytes.putInt(row.length).put(row);
    }
    stored.update(bytes.array());
  }
}
