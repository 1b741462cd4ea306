package io.streamsql.views;

import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.connector.KafkaSink;
import io.streamsql.formats.Json;
import io.streamsql.runs.QueryRun;
import io.streamsql.source.ClockSource;
import io.streamsql.source.QueryInputs;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
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

  /** Batches of more records are computed by stages, side by side. */
  private static final long LOCAL_RECORDS = 10_000;

  private static final Map<String, ViewSink> PREPARED = new ConcurrentHashMap<>();

  private static final ExecutorService REHEARSING =
      Executors.newSingleThreadExecutor(
          task -> {
            Thread thread = new Thread(task, "view rehearsals");
            thread.setDaemon(true);
            return thread;
          });

  private final Dataflow dataflow;
  private final boolean resumes;
  private final KafkaSink writer;
  private final ViewStores stores;
  private final FutureTask<LocalBatches> rehearsal;
  private LocalBatches local;
  private String run;

  private ViewSink(Dataflow dataflow, String checkpoint, boolean resumes, KafkaSink writer) {
    this.dataflow = dataflow;
    this.resumes = resumes;
    this.writer = writer;
    stores = new ViewStores(checkpoint);
    rehearsal = new FutureTask<>(this::rehearsed);
  }

  /** Spark compiles the code of fragments when they first run: here, without records. */
  private LocalBatches rehearsed() {
    LocalBatches made = new LocalBatches(dataflow.session().sparkContext(), dataflow, stores);
    made.rehearse();
    return made;
  }

  /** In the background, unless it is done. */
  private void rehearse() {
    if (isLocal()) {
      REHEARSING.execute(
          () -> {
            SparkSession.setActiveSession(dataflow.session());
            rehearsal.run();
          });
    }
  }

  /**
   * A writer for the records of a view's topics.
   *
   * @param resumes whether the checkpoint has a batch: the next one is small, in all likelihood
   * @param writer takes what the dataflow gives; null: nothing does
   */
  public static DataStreamWriter<Row> write(
      Dataset<Row> records,
      Dataflow dataflow,
      String checkpoint,
      boolean resumes,
      KafkaSink writer) {
    String id = UUID.randomUUID().toString();
    PREPARED.put(id, new ViewSink(dataflow, checkpoint, resumes, writer));
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
      ViewSink sink = PREPARED.remove(parameters.apply(ID));
      if (sink.resumes) {
        sink.rehearse();
      }
      return sink;
    }
  }

  @Override
  public void addBatch(long number, Dataset<Row> batch) {
    var frame = (org.apache.spark.sql.classic.Dataset<Row>) batch;
    SparkSession session = frame.sparkSession();
    if (run == null) {
      run = session.sparkContext().getLocalProperty(QueryRun.ID);
      stores.begin(session, run);
    }
    var execution = (IncrementalExecution) frame.queryExecution();
    long time = execution.offsetSeqMetadata().batchTimestampMs();
    write(session, new Transport.Batch(number, time), execution);
    try {
      QueryInputs.batchEnded(run);
    } catch (InterruptedException stopped) {
      throw new UncheckedIOException(new InterruptedIOException("stopped at the end of a batch"));
    }
  }

  private void write(SparkSession session, Transport.Batch next, IncrementalExecution execution) {
    long number = next.number;
    long epoch = QueryInputs.epoch(run);
    List<MicroBatchScanExec> scans = scans(execution);
    if (isLocal() && records(scans) <= LOCAL_RECORDS) {
      local().run(topics(scans), next, (part, rows) -> write(writer, part, rows, number, epoch));
      return;
    }
    try (var stages = new ShuffledBatch(session.sparkContext(), topics(scans), next)) {
      KafkaSink sink = writer;
      dataflow
          .rows(stages, stores)
          .toJavaRDD()
          .foreachPartition(rows -> write(sink, TaskContext.getPartitionId(), rows, number, epoch));
    }
    rehearse();
  }

  private boolean isLocal() {
    return dataflow.session().sparkContext().isLocal() && dataflow.isStatic();
  }

  /** The rehearsed batches; this thread does what the other one has not begun. */
  private LocalBatches local() {
    if (local == null) {
      rehearsal.run();
      try {
        local = rehearsal.get();
      } catch (ExecutionException e) {
        throw ViewSink.<RuntimeException>asItIs(e.getCause());
      } catch (InterruptedException e) {
        throw ViewSink.<RuntimeException>asItIs(e);
      }
      if (writer != null) {
        writer.measureFrom(local::oldest);
      }
    }
    return local;
  }

  /** Spark knows an interrupted batch by the class of its exception. */
  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <E extends Throwable> E asItIs(Throwable thrown) throws E {
    throw (E) thrown;
  }

  /** Of topics that have records. */
  private static List<MicroBatchScanExec> scans(IncrementalExecution batch) {
    SparkPlan plan = batch.executedPlan();
    return CollectionConverters.asJava(plan.collectLeaves()).stream()
        .filter(MicroBatchScanExec.class::isInstance)
        .map(MicroBatchScanExec.class::cast)
        .filter(scan -> !ClockSource.gives(scan.stream()))
        .toList();
  }

  private static Map<String, RDD<InternalRow>> topics(List<MicroBatchScanExec> scans) {
    Map<String, RDD<InternalRow>> found = new HashMap<>();
    scans.forEach(scan -> found.put(offsets(scan.end()).fieldNames().next(), scan.execute()));
    return found;
  }

  /** How many offsets the batch has: at least the number of its records. */
  private static long records(List<MicroBatchScanExec> scans) {
    long count = 0;
    for (MicroBatchScanExec scan : scans) {
      JsonNode begins = offsets(scan.start()).elements().next();
      for (var end : offsets(scan.end()).elements().next().properties()) {
        count += end.getValue().asLong() - begins.path(end.getKey()).asLong();
      }
    }
    return count;
  }

  /** Offsets, {@code {"topic": {"0": 17, "1": 4}}}. */
  private static JsonNode offsets(Offset offset) {
    try {
      return Json.TREES.readTree(offset.json());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void write(
      KafkaSink sink,
      int partition,
      java.util.Iterator<InternalRow> rows,
      long number,
      long epoch) {
    if (sink == null) {
      rows.forEachRemaining(row -> {});
      return;
    }
    Throwable failure = null;
    sink.inEpoch(epoch);
    sink.open(partition, number);
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
