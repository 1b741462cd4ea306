package io.streamsql.sinks;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.DataStreamWriter;

/**
 * Writes each micro-batch as files, exactly once for readers of the folder.
 *
 * <p>An attempt at a batch writes hidden files. A file in the checkpoint then decides their names
 * atomically, and only then are they renamed. Spark repeats a batch that it has not committed: if
 * the batch is decided, the remaining files are renamed and nothing is written; otherwise none of
 * its files was ever visible, and it is written again.
 */
public final class FileSink implements VoidFunction2<Dataset<Row>, Long> {
  private static final long serialVersionUID = 1L;
  private static final String CHECKPOINT = "sql.streaming.queryId";
  private static final String DECISIONS = "files";
  private static final String TIMES = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX";

  private static final Map<String, Map<String, String>> OPTIONS =
      Map.of(
          "PARQUET",
          Map.of(),
          "JSON",
          Map.of("timestampFormat", TIMES, "ignoreNullFields", "false"),
          "CSV",
          Map.of(
              "timestampFormat",
              TIMES,
              "header",
              "true",
              "escape",
              "\"",
              "ignoreLeadingWhiteSpace",
              "false",
              "ignoreTrailingWhiteSpace",
              "false"));

  private static final Map<String, String> SETTINGS =
      Map.of(
          "spark.sql.sources.commitProtocolClass",
          StagedNames.class.getName(),
          "spark.sql.parquet.outputTimestampType",
          "TIMESTAMP_MICROS",
          "spark.sql.parquet.datetimeRebaseModeInWrite",
          "CORRECTED");

  /** The list of an attempt's files is read when all of its tasks are done: no task waits. */
  private static final Map<String, String> COMMITTER =
      Map.of(
          "mapreduce.fileoutputcommitter.algorithm.version",
          "2",
          "mapreduce.fileoutputcommitter.marksuccessfuljobs",
          "false");

  private final String checkpoint;
  private final String root;
  private final String format;
  private final List<String> partitionBy;

  private FileSink(String checkpoint, String root, String format, List<String> partitionBy) {
    this.checkpoint = checkpoint;
    this.root = root;
    this.format = format;
    this.partitionBy = List.copyOf(partitionBy);
  }

  /**
   * A writer for the rows; the caller adds trigger and checkpoint.
   *
   * @param checkpoint the folder of the query's checkpoint
   * @param root the folder of the files, an absolute path or a URI
   * @param format PARQUET, JSON or CSV
   * @param partitionBy the columns whose values are folders
   */
  public static DataStreamWriter<Row> write(
      Dataset<Row> rows, String checkpoint, String root, String format, List<String> partitionBy) {
    return rows.writeStream().foreachBatch(new FileSink(checkpoint, root, format, partitionBy));
  }

  @Override
  public void call(Dataset<Row> rows, Long batch) throws IOException {
    SparkSession session = rows.sparkSession();
    Configuration conf = session.sessionState().newHadoopConf();
    Decisions decisions = new Decisions(new Path(checkpoint, DECISIONS), conf);
    Optional<Decision> decided = decisions.of(batch);
    StagedFiles staged =
        new StagedFiles(root, session.sparkContext().getLocalProperty(CHECKPOINT), conf);
    if (decided.isEmpty()) {
      decided = Optional.of(decide(rows, batch, staged, decisions));
    }
    StagedFiles.carryOut(decided.get(), conf);
    staged.discardUpTo(batch);
    decisions.forgetBefore(batch);
  }

  private Decision decide(Dataset<Row> rows, long batch, StagedFiles staged, Decisions decisions)
      throws IOException {
    Path attempt = staged.attempt(batch);
    boolean saved = false;
    try {
      save(rows, attempt);
      saved = true;
    } finally {
      if (!saved) {
        staged.giveUp(attempt);
      }
    }
    Decision decision = staged.decision(attempt, batch, format);
    // Two engines of a service may run the same batch for a moment: one decides.
    return decisions.decide(batch, decision) ? decision : decisions.of(batch).orElseThrow();
  }

  private void save(Dataset<Row> rows, Path attempt) {
    SETTINGS.forEach(rows.sparkSession().conf()::set);
    rows.write()
        .format(format)
        .options(OPTIONS.get(format))
        .options(COMMITTER)
        .partitionBy(partitionBy.toArray(String[]::new))
        .save(attempt.toString());
  }
}
