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
 * What a query for the engine's own use is made of, that has the JVM compile what all queries run:
 * records that lie in memory, and a writer that writes nothing.
 */
public final class WarmUp {
  private static final StructType RECORD =
      StructType.fromDDL(
          "key BINARY, value BINARY, topic STRING, partition INT, offset LONG, timestamp TIMESTAMP,"
              + " timestampType INT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>");

  private final LowLatencyMemoryStream<Row> stream;
  private long sent;

  /** Records of two partitions, as Spark's Kafka source has them. */
  public WarmUp(SparkSession spark) {
    stream = LowLatencyMemoryStream$.MODULE$.apply(2, Encoders.row(RECORD), spark.sqlContext());
  }

  /** The records that are sent, in a stream. */
  public Dataset<Row> records() {
    return stream.toDF();
  }

  /** Sends records whose key is the text, and whose value the JSON, with the number for a %d. */
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
   * Runs a query whose rows go nowhere.
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
