package io.streamsql.iceberg;

import io.streamsql.databases.Retries;
import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.monitoring.CurrentRecord;
import io.streamsql.monitoring.ProcessingLog;
import io.streamsql.source.TopicIdentity;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.DataStreamWriter;

/**
 * Writes each micro-batch to a table of Iceberg, each row once: tasks write files, and one commit
 * adds the files of all together with the offsets that they reach. Records up to the table's
 * offsets are skipped, whichever batch or checkpoint they come from.
 */
public final class IcebergSink implements VoidFunction2<Dataset<Row>, Long> {
  private static final long serialVersionUID = 1L;
  private static final String STEP = "Sink";

  private final IcebergTarget target;
  private final String checkpoint;
  private final ProcessingLog log;

  private IcebergSink(IcebergTarget target, String checkpoint, ProcessingLog log) {
    this.target = target;
    this.checkpoint = checkpoint;
    this.log = log;
  }

  /**
   * A writer for the rows; the caller adds trigger and checkpoint. The table is created, or gets
   * the columns that it lacks.
   *
   * @throws CodedException if the catalog is not available, or the table cannot hold the rows
   */
  public static DataStreamWriter<Row> write(
      Dataset<Row> rows, String checkpoint, IcebergTarget target, ProcessingLog log) {
    Configuration conf = conf(rows);
    // The start of a query is repeated anyway.
    Retries few =
        new Retries(
            ErrorCode.SINK_UNAVAILABLE, TimeUnit.SECONDS.toNanos(1), TimeUnit.SECONDS.toNanos(1));
    try (LakeLoader.Scope scope = LakeLoader.enter(target.jars())) {
      String problem = few.call(target.place(), () -> prepare(scope.provider(), target, conf));
      if (problem != null) {
        throw new CodedException(ErrorCode.SINK_MISMATCH, problem);
      }
    }
    return rows.writeStream().foreachBatch(new IcebergSink(target, checkpoint, log));
  }

  private static String prepare(Lake.Provider provider, IcebergTarget target, Configuration conf)
      throws Exception {
    try (Lake lake = provider.open(target, conf)) {
      return lake.prepare();
    }
  }

  @Override
  public void call(Dataset<Row> rows, Long batch) {
    Configuration conf = conf(rows);
    String topicId = TopicIdentity.known(checkpoint, conf, target.topic());
    Retries retries = Retries.usual(ErrorCode.SINK_UNAVAILABLE);
    try (LakeLoader.Scope scope = LakeLoader.enter(target.jars());
        Lake lake = retries.call(target.place(), () -> scope.provider().open(target, conf))) {
      Lake.Start start = retries.call(target.place(), () -> lake.start(topicId));
      List<List<Lake.Part>> parts =
          rows.queryExecution()
              .toRdd()
              .toJavaRDD()
              .mapPartitions(new Task(target, start, log))
              .collect();
      retries.call(
          target.place(),
          () -> {
            lake.commit(start, parts);
            return null;
          });
    }
  }

  private static Configuration conf(Dataset<Row> rows) {
    return rows.sparkSession().sessionState().newHadoopConf();
  }

  /** The rows of a partition of the batch. */
  private record Task(IcebergTarget target, Lake.Start start, ProcessingLog log)
      implements FlatMapFunction<Iterator<InternalRow>, List<Lake.Part>> {

    @Override
    public Iterator<List<Lake.Part>> call(Iterator<InternalRow> rows) {
      AtomicBoolean refused = new AtomicBoolean();
      Lake.Refusals refusals =
          (partition, offset, why) -> {
            CurrentRecord record = CurrentRecord.at(target.topic(), partition, offset);
            log.productionError(STEP, "the table refuses the row: " + why, record);
            refused.set(true);
          };
      try (LakeLoader.Scope scope = LakeLoader.enter(target.jars())) {
        List<Lake.Part> parts = scope.provider().write(target, start, rows, refusals);
        // The entries are written before the commit, after which the rows are not seen again.
        if (refused.get()) {
          log.flush();
        }
        return List.of(parts).iterator();
      }
    }
  }
}
