package io.streamsql.queries;

import java.nio.charset.StandardCharsets;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream;
import org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream$;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * An internal query that makes the JVM compile what all queries run: its records are in memory, and
 * its writer writes nothing.
 */
public final class WarmUp {
  private static final StructType RECORD =
      StructType.fromDDL(
          "key BINARY, value BINARY, topic STRING, partition INT, offset LONG, timestamp TIMESTAMP,"
              + " timestampType INT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>");

  private final LowLatencyMemoryStream<Row> stream;
  private long sent;

  /** Records of two partitions, in the form of Spark's Kafka source. */
  public WarmUp(SparkSession spark) {
    stream = LowLatencyMemoryStream$.MODULE$.apply(2, Encoders.row(RECORD), spark.sqlContext());
  }

  /** The same records as a stream. */
  public Dataset<Row> records() {
    return stream.toDF();
  }

  /** Sends records with the text as key and the JSON as value, with a number for %d. */
  public void send(int count, String key, String value) {
    List<Row> rows = new ArrayList<>(count);
    for (int i = 0; i < count; i++, sent++) {
      rows.add(
          RowFactory.create(
              bytes(String.format(key, sent % 100)),
              bytes(String.format(value, sent)),
              "",
              (int) (sent % 2),
              sent / 2,
              new Timestamp(System.currentTimeMillis()),
              0,
              null));
    }
    stream.addData(CollectionConverters.asScala(rows));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Runs a query whose rows are discarded.
   *
   * @param interval of its batches in real time, as Spark writes it; null: micro-batches
   */
  public static StreamingQuery start(
      Dataset<Row> rows, String mode, String checkpoint, String interval) throws TimeoutException {
    return rows.writeStream()
        .foreach(new Nowhere())
        .outputMode(mode)
        .option("checkpointLocation", checkpoint)
        .trigger(interval == null ? Trigger.ProcessingTime(0) : Trigger.RealTime(interval))
        .start();
  }

  private static final class Nowhere extends ForeachWriter<Row> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean open(long partition, long epoch) {
      return true;
    }

    @Override
    public void process(Row row) {}

    @Override
    public void close(Throwable error) {}
  }
}
