package io.streamsql.queries;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.execution.ExplainMode;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkPlanInfo;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkPropagator;
import org.apache.spark.sql.streaming.StreamingQuery;
import scala.collection.Iterator;

/**
 * Makes the JVM compile what Spark runs between two batches, by planning a running query's batch
 * repeatedly in the background.
 *
 * <p>Spark plans each batch, and no record moves meanwhile. In real-time mode that happens once a
 * minute, too rarely for the JVM to compile the planner: interpreted, planning takes most of a
 * second, compiled a few hundredths. None of these plans is run, and none reaches a source of the
 * running query: {@link DetachedStream}.
 */
public final class Rehearsal {
  private static final ExecutorService BACKGROUND =
      Executors.newSingleThreadExecutor(
          task -> {
            Thread thread = new Thread(task, "rehearsal");
            thread.setDaemon(true);
            return thread;
          });

  /** The Spark version that {@link #plan} is written for. */
  private static final String WRITTEN_FOR = "4.3.";

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final OperatingSystemMXBean MACHINE =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  /** Planning that takes less processor time is compiled. */
  private static final long QUICK_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

  /** The ratio of pause to work, on a machine with idle processors and on a busy one. */
  private static final int SHARE = 3;

  private static final int SMALL_SHARE = 15;

  /** The load of all processors: a query's first records use all of them. */
  private static final double BUSY = 0.7;

  private static final int QUICK_IN_A_ROW = 3;
  private static final int MOST = 40;
  private static final long FIRST_BATCH_MS = 30_000;
  private static final long LOOK_MS = 100;

  /** While the records' own code is compiled, and before the first commit. */
  private static final long FIRST_RECORDS_MS = 5_000;

  private final StreamExecution query;

  private Rehearsal(StreamExecution query) {
    this.query = query;
  }

  /**
   * Begins when the query's first batch runs and earlier rehearsals have ended.
   *
   * @return the number of plans; 0 for another version of Spark
   */
  public static Future<Integer> begin(StreamingQuery query) {
    if (query instanceof StreamingQueryWrapper wrapper
        && org.apache.spark.package$.MODULE$.SPARK_VERSION().startsWith(WRITTEN_FOR)) {
      return BACKGROUND.submit(new Rehearsal(wrapper.streamingQuery())::run);
    }
    return CompletableFuture.completedFuture(0);
  }

  /** Plans the query's current batch repeatedly, on the caller's thread. */
  public static void plan(StreamingQuery query, int times) {
    Rehearsal rehearsal = new Rehearsal(((StreamingQueryWrapper) query).streamingQuery());
    for (int i = 0; i < times; i++) {
      rehearsal.plan(rehearsal.query.lastExecution());
    }
  }

  private int run() throws InterruptedException {
    int plans = 0;
    try {
      if (!awaitFirstBatch()) {
        return plans;
      }
      int quick = 0;
      MACHINE.getCpuLoad(); // Each call reports what was since the previous one.
      while (plans < MOST && quick < QUICK_IN_A_ROW && query.isActive()) {
        long began = THREADS.getCurrentThreadCpuTime();
        plan(query.lastExecution());
        plans++;
        long took = THREADS.getCurrentThreadCpuTime() - began;
        quick = took < QUICK_NANOS ? quick + 1 : 0;
        // Records flow meanwhile, and the first commit is some time away.
        int share = MACHINE.getCpuLoad() > BUSY ? SMALL_SHARE : SHARE;
        TimeUnit.NANOSECONDS.sleep(share * took);
      }
    } catch (RuntimeException e) {
      // The query is not affected: it has ended, or its batch has changed.
    }
    return plans;
  }

  private boolean awaitFirstBatch() throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(FIRST_BATCH_MS);
    while (query.lastExecution() == null) {
      if (!query.isActive() || System.nanoTime() > deadline) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(LOOK_MS);
    }
    TimeUnit.MILLISECONDS.sleep(FIRST_RECORDS_MS);
    return query.isActive();
  }

  private void plan(IncrementalExecution batch) {
    // As MicroBatchExecution creates it; not the first one, which would write the state's schema.
    IncrementalExecution again =
        new IncrementalExecution(
            batch.sparkSession(),
            DetachedStream.detached(batch.logical()),
            batch.outputMode(),
            batch.checkpointLocation(),
            query.id(),
            query.runId(),
            batch.currentBatchId(),
            batch.prevOffsetSeqMetadata(),
            batch.offsetSeqMetadata(),
            // Not the query's own, which records requests.
            WatermarkPropagator.noop(),
            false,
            batch.currentStateStoreCkptId(),
            batch.stateSchemaMetadatas(),
            batch.mode(),
            batch.isTerminatingTrigger(),
            batch.isRealTimeMode());
    SparkPlan plan = again.executedPlan();
    generate(plan);
    // What Spark reports to its listeners about each execution.
    String mode = batch.sparkSession().sessionState().conf().uiExplainMode();
    again.explainString(ExplainMode.fromString(mode));
    SparkPlanInfo.fromSparkPlan(plan);
  }

  private static void generate(SparkPlan plan) {
    if (plan instanceof WholeStageCodegenExec stage) {
      stage.doCodeGen();
    }
    Iterator<SparkPlan> children = plan.children().iterator();
    while (children.hasNext()) {
      generate(children.next());
    }
  }
}
