package io.streamsql.operators;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * An operator on one key, as Spark drives it, without a Spark session: batches of rows, and a
 * watermark that fires timers. Its state lives in a {@link MemoryState}.
 *
 * @param <R> what the operator makes
 */
public final class OneKey<R> {
  /** The key of all rows. */
  public static final byte[] KEY = bytes("key");

  private final KeyedOperator<R> operator;
  private final MemoryState state = new MemoryState();
  private long watermark;

  private record Times(long getCurrentWatermarkInMs) implements TimerValues {
    @Override
    public long getCurrentProcessingTimeInMs() {
      throw new AssertionError("no operator looks at the clock");
    }
  }

  private record Expired(long getExpiryTimeInMs) implements ExpiredTimerInfo {}

  public OneKey(KeyedOperator<R> operator) {
    this.operator = operator;
    operator.setHandle(state);
    operator.init(OutputMode.Update(), operator.timed() ? TimeMode.EventTime() : TimeMode.None());
  }

  /** The results of one batch. */
  public List<R> batch(KeyedRow... rows) {
    List<KeyedRow> all = Arrays.asList(rows);
    Iterator<KeyedRow> input = CollectionConverters.asScala(all.iterator());
    return list(operator.handleInputRows(KEY, input, new Times(watermark)));
  }

  /** What the timers give that are due when the watermark comes to that time (ms). */
  public List<R> watermark(long time) {
    watermark = time;
    List<R> out = new ArrayList<>();
    for (Long due = state.nextTimer(time); due != null; due = state.nextTimer(time)) {
      out.addAll(list(operator.handleExpiredTimer(KEY, new Times(time), new Expired(due))));
    }
    return out;
  }

  /** Whether the state of that name holds a value. */
  public boolean hasValue(String name) {
    return state.getValueState(name, Encoders.BINARY(), TTLConfig.NONE()).exists();
  }

  /** Whether the state of that name holds entries. */
  public boolean hasEntries(String name) {
    return state.getMapState(name, Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE()).exists();
  }

  /** Whether a timer is registered. */
  public boolean hasTimers() {
    return state.listTimers().hasNext();
  }

  /** How many timers are registered. */
  public int timers() {
    return list(state.listTimers()).size();
  }

  private static <R> List<R> list(Iterator<R> results) {
    return new ArrayList<>(CollectionConverters.asJava(results.toList()));
  }

  /** A row of the only input; null: without a value. */
  public static KeyedRow row(long time, byte[] row) {
    return row(0, 0, time, time, row);
  }

  /** A row of an input (its side), in the order of its log. */
  public static KeyedRow row(int side, int partition, long offset, long time, byte[] row) {
    KeyedRow made = new KeyedRow();
    made.setSide(side);
    made.setPartition(partition);
    made.setOffset(offset);
    made.setTime(time);
    made.setRow(row);
    return made;
  }

  /** Values packed as rows are; texts as STRING. */
  public static byte[] packed(StructType type, Object... values) {
    Object[] internal = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      internal[i] = values[i] instanceof String text ? UTF8String.fromString(text) : values[i];
    }
    InternalRow row = new GenericInternalRow(internal);
    return UnsafeProjection.create(type).apply(row).copy().getBytes();
  }

  public static byte[] bytes(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }

  public static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }
}
