package io.streamsql.operators;

import io.streamsql.monitoring.ProcessingLog;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The base of the state operators: Spark's transformWithState over packed rows, in micro-batches
 * and in real-time mode.
 *
 * <p>Within a batch a key's rows are ordered as in Kafka Streams: each input partition in the order
 * of its log, and of the partitions the one whose next row is the earliest. A catch-up then gives
 * the same results as live processing. A key's rows of one batch are held in memory, within the
 * limit of {@link HeldRows}; of its results, those of one row are.
 *
 * @param <R> its result, a bean: see {@link #results}
 */
public abstract class KeyedOperator<R> extends StatefulProcessor<byte[], KeyedRow, R> {
  private static final long serialVersionUID = 1L;

  /** Starts later in every process, so that places rise over restarts, too. */
  private static final AtomicLong PLACES = new AtomicLong(System.currentTimeMillis() * 1_000_000);

  private static final String EVENT = "$event";

  /** The query's log; null if nothing is counted. */
  private ProcessingLog log;

  /** How its results become columns. */
  protected abstract Encoder<R> results();

  /** Whether it uses timers in event time. */
  protected boolean timed() {
    return false;
  }

  /** Whether rows wait for a time that the rows of other keys bring. */
  protected boolean awaitsTime() {
    return false;
  }

  /** Processes one row of the key; adds the results to `out`. */
  protected abstract void process(byte[] key, KeyedRow row, TimerValues times, List<R> out);

  /** Called after all rows of the key's batch, to store what they changed. */
  protected void finish(byte[] key, TimerValues times, List<R> out) {}

  /** Counts a row of the time (ms) that is late at its stream's time. */
  protected final void late(long time, long streamTime) {
    if (log != null) {
      log.lateRow(getClass().getSimpleName(), time, streamTime);
    }
  }

  @Override
  public final Iterator<R> handleInputRows(byte[] key, Iterator<KeyedRow> rows, TimerValues times) {
    java.util.Iterator<KeyedRow> ordered = RowOrder.inOrder(CollectionConverters.asJava(rows));
    return CollectionConverters.asScala(new ResultRows<>(this, key, ordered, times));
  }

  /**
   * The operator over rows of key BINARY, side INT, time BIGINT, partition INT, offset BIGINT,
   * headers BINARY, row BINARY. It handles late rows itself: Spark drops none; the query's log
   * counts them. The rows of a bounded batch need no state store.
   */
  public final Dataset<Row> over(Dataset<Row> rows, ProcessingLog ofQuery) {
    if (!rows.isStreaming()) {
      return BoundedOperator.over(this, rows);
    }
    log = ofQuery;
    Dataset<Row> input = timed() ? withWatermark(rows) : rows;
    return input
        .groupBy(input.col("key"))
        .as(Encoders.BINARY(), Encoders.bean(KeyedRow.class))
        .transformWithState(
            this, timed() ? TimeMode.EventTime() : TimeMode.None(), OutputMode.Update(), results())
        .toDF();
  }

  /** Spark drops late rows if it sees the watermark's column, which is removed here. */
  private static Dataset<Row> withWatermark(Dataset<Row> rows) {
    return rows.withColumn(EVENT, functions.timestamp_millis(rows.col("time")))
        .withWatermark("`" + EVENT + "`", "0 seconds")
        .drop(EVENT);
  }

  /** The `offset` of a result: later results have higher places. */
  protected static long place() {
    return PLACES.getAndIncrement();
  }
}
