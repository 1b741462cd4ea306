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
 * The base of our state operators: Spark's transformWithState over rows whose columns it does not
 * know, in micro-batches and in Real-Time Mode alike.
 *
 * <p>Within a batch a key's rows are taken as Kafka Streams takes them: each input partition in the
 * order of its log, and of several always the one whose next row is the earliest. A catch-up then
 * gives what living through it would have given. A key's rows of one batch are held in memory, as
 * many as {@link HeldRows} lets through; of its results, those of one row are.
 *
 * @param <R> what it makes: a bean, see {@link #results}
 */
public abstract class KeyedOperator<R> extends StatefulProcessor<byte[], KeyedRow, R> {
  private static final long serialVersionUID = 1L;

  /** Begins later in every process, so that places rise over restarts, too. */
  private static final AtomicLong PLACES = new AtomicLong(System.currentTimeMillis() * 1_000_000);

  private static final String EVENT = "$event";

  /** That of the query; null where nothing is counted. */
  private ProcessingLog log;

  /** How its results become columns. */
  protected abstract Encoder<R> results();

  /** Whether it asks for timers in event time. */
  protected boolean timed() {
    return false;
  }

  /** Whether rows wait for a time that the rows of other keys bring. */
  protected boolean awaitsTime() {
    return false;
  }

  /** Takes one row of the key; adds what it causes to `out`. */
  protected abstract void process(byte[] key, KeyedRow row, TimerValues times, List<R> out);

  /** Called when all rows of the key's batch are taken: the time to store what they changed. */
  protected void finish(byte[] key, TimerValues times, List<R> out) {}

  /** Counts a row of the time (ms) that came after that for it had passed, by its stream's. */
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
   * headers BINARY, row BINARY. Late rows are its own affair: Spark drops none; they are counted by
   * the query's log. Rows that end, of a batch, need no store of states.
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

  /** Spark drops late rows where it sees the column of the watermark: it is not let through. */
  private static Dataset<Row> withWatermark(Dataset<Row> rows) {
    return rows.withColumn(EVENT, functions.timestamp_millis(rows.col("time")))
        .withWatermark("`" + EVENT + "`", "0 seconds")
        .drop(EVENT);
  }

  /** For `offset` of a result: later results have higher places. */
  protected static long place() {
    return PLACES.getAndIncrement();
  }
}
