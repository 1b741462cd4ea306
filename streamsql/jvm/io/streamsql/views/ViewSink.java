package io.streamsql.views;

import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.connector.KafkaSink;
import io.streamsql.formats.Json;
import io.streamsql.monitoring.QueryProgress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.OutputMode;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The sink of a view's query, which reads the view's topics and does nothing else: it takes the
 * scans out of the plan of a batch, runs the view's dataflow over them, and writes what that gives.
 */
public final class ViewSink implements Sink {
  private static final String ID = "streamsql.view";
  private static final String RUN = "spark.jobGroup.id";
  private static final Map<String, ViewSink> PREPARED = new ConcurrentHashMap<>();

  private final Dataflow dataflow;
  private final String checkpoint;
  private final KafkaSink writer;
  private ViewStores stores;

  private ViewSink(Dataflow dataflow, String checkpoint, KafkaSink writer) {
    this.dataflow = dataflow;
    this.checkpoint = checkpoint;
    this.writer = writer;
  }

  /**
   * A writer for the records of a view's topics.
   *
   * @param writer takes what the dataflow gives; null: nothing does
   */
  public static DataStreamWriter<Row> write(
      Dataset<Row> records, Dataflow dataflow, String checkpoint, KafkaSink writer) {
    QueryProgress.follow(records.sparkSession());
    String id = UUID.randomUUID().toString();
    PREPARED.put(id, new ViewSink(dataflow, checkpoint, writer));
    return records.writeStream().format(Provider.class.getName()).option(ID, id);
  }

  /** How Spark gets a sink that has been made for a query. */
  public static final class Provider implements StreamSinkProvider {
    @Override
    public Sink createSink(
        SQLContext context,
        scala.collection.immutable.Map<String, String> parameters,
        Seq<String> partitions,
        OutputMode mode) {
      return PREPARED.remove(parameters.apply(ID));
    }
  }

  @Override
  public void addBatch(long number, Dataset<Row> batch) {
    var frame = (org.apache.spark.sql.classic.Dataset<Row>) batch;
    SparkSession session = frame.sparkSession();
    if (stores == null) {
      String run = session.sparkContext().getLocalProperty(RUN);
      stores = new ViewStores(session, checkpoint, run);
    }
    try (Dataflow.Batch run = dataflow.new Batch(records(frame), stores, number)) {
      KafkaSink sink = writer;
      run.rows().toJavaRDD().foreachPartition(rows -> write(sink, rows, number));
    }
  }

  /** The records of the batch by topic. */
  private static Map<String, RDD<InternalRow>> records(
      org.apache.spark.sql.classic.Dataset<Row> batch) {
    Map<String, RDD<InternalRow>> found = new HashMap<>();
    SparkPlan plan = batch.queryExecution().executedPlan();
    for (SparkPlan leaf : CollectionConverters.asJava(plan.collectLeaves())) {
      if (leaf instanceof MicroBatchScanExec scan) {
        found.put(topic(scan.end().json()), scan.execute());
      }
    }
    return found;
  }

  /** The topic of offsets, {@code {"topic": {"0": 17, "1": 4}}}. */
  private static String topic(String offsets) {
    try {
      JsonNode topics = Json.TREES.readTree(offsets);
      return topics.fieldNames().next();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void write(KafkaSink sink, java.util.Iterator<InternalRow> rows, long number) {
    if (sink == null) {
      rows.forEachRemaining(row -> {});
      return;
    }
    Throwable failure = null;
    sink.open(TaskContext.getPartitionId(), number);
    try {
      while (rows.hasNext()) {
        sink.process((UnsafeRow) rows.next());
      }
    } catch (Throwable e) {
      failure = e;
      throw e;
    } finally {
      sink.close(failure);
    }
  }
}
