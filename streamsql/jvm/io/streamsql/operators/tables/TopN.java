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
 * The first rows of each group by an order, each under its rank from 1. Rows come as changes: pairs
 * of BINARY, the row that goes (null: none) and the one that comes. Results are the ranks that have
 * another row after a batch than before.
 *
 * <p>State, of each group: the first rows in their order, and where rows can go the others, too, of
 * which the best come up when some of the first have gone. Every row among the others comes after
 * all of the first.
 */
public final class TopN extends KeyedOperator<RankedRow> {
  private static final long serialVersionUID = 1L;
  private final RowRanking ranking;
  private final int count;
  private final boolean retracts;
  private transient ValueState<byte[]> stored;
  private transient MapState<byte[], byte[]> others;
  private transient List<byte[]> first;
  private transient List<byte[]> before;
  private transient long waiting;
  private transient long time;

  /**
   * @param type of a row, as JSON; see {@link RowRanking}
   * @param count how many ranks there are
   * @param retracts whether rows go
   */
  public TopN(String type, String directions, int count, boolean retracts) {
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

  /** So many are kept in order: with room for some to go before the others are looked through. */
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
    if (place == first.size() && (waiting > 0 || place == capacity())) {
      setAside(row);
      return;
    }
    first.add(place, row);
    if (first.size() > capacity()) {
      setAside(first.remove(first.size() - 1));
    }
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

  /** Takes the best of the others, where some of the first have gone. */
  private void refill() {
    if (waiting == 0 || first.size() >= count) {
      return;
    }
    int room = capacity() - first.size();
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
    before = List.copyOf(first.subList(0, Math.min(count, first.size())));
  }

  @Override
  protected void finish(byte[] key, TimerValues times, List<RankedRow> out) {
    refill();
    int now = Math.min(count, first.size());
    for (int i = 0; i < Math.max(now, before.size()); i++) {
      byte[] row = i < now ? first.get(i) : null;
      if (i >= before.size() || !Arrays.equals(row, before.get(i))) {
        out.add(new RankedRow(key, i + 1, time, row));
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
