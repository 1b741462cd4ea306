package io.streamsql.sinks;

import io.streamsql.databases.Retries;
import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.monitoring.ProcessingLog;
import java.sql.Connection;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.function.VoidFunction;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.DataStreamWriter;

/**
 * Writes each micro-batch to a table of a database, each row once: see {@link SinkOffsets}. Tasks
 * write the partitions of the topic side by side, in transactions of their own.
 */
public final class JdbcSink implements VoidFunction2<Dataset<Row>, Long> {
  private static final long serialVersionUID = 1L;
  private static final String CHECKPOINT = "sql.streaming.queryId";

  private final JdbcTarget target;
  private final ProcessingLog log;

  private JdbcSink(JdbcTarget target, ProcessingLog log) {
    this.target = target;
    this.log = log;
  }

  /**
   * A writer for the rows; the caller adds trigger and checkpoint. The table is created, or
   * checked.
   *
   * @throws CodedException if the database is not available, or the table cannot hold the rows
   */
  public static DataStreamWriter<Row> write(
      Dataset<Row> rows, JdbcTarget target, ProcessingLog log) {
    // The start of a query is repeated anyway.
    Retries few =
        new Retries(
            ErrorCode.SINK_UNAVAILABLE, TimeUnit.SECONDS.toNanos(1), TimeUnit.SECONDS.toNanos(1));
    String problem =
        few.call(
            target.place(),
            () -> {
              try (Connection connection = target.open()) {
                return new TargetTable(target).prepare(connection);
              }
            });
    if (problem != null) {
      throw new CodedException(ErrorCode.SINK_MISMATCH, problem);
    }
    return rows.writeStream().foreachBatch(new JdbcSink(target, log));
  }

  @Override
  public void call(Dataset<Row> rows, Long batch) {
    String checkpoint = rows.sparkSession().sparkContext().getLocalProperty(CHECKPOINT);
    String sink = target.name() + "/" + checkpoint;
    rows.queryExecution().toRdd().toJavaRDD().foreachPartition(new Task(target, log, sink, batch));
  }

  /** The rows of a partition of the batch. */
  private record Task(JdbcTarget target, ProcessingLog log, String sink, long batch)
      implements VoidFunction<Iterator<InternalRow>> {

    @Override
    public void call(Iterator<InternalRow> rows) {
      SinkOffsets offsets = new SinkOffsets(target, sink, batch);
      Retries retries = Retries.usual(ErrorCode.SINK_UNAVAILABLE);
      try (JdbcWriter writer = new JdbcWriter(target, offsets, target::open, retries, log)) {
        while (rows.hasNext()) {
          writer.add(rows.next());
        }
        writer.flush();
      }
    }
  }
}
