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
 * Has the JVM compile what Spark runs between two batches, by planning a running query's batch over
 * and over in the background.
 *
 * <p>Spark plans each batch anew, and no record moves meanwhile. In Real-Time Mode that happens
 * once a minute, too seldom for the JVM to compile the planner: interpreted, it takes the greater
 * part of a second, compiled a few hundredths. Nothing of these plans is run, and none of them
 * reaches a source of the running query: {@link DetachedStream}.
 */
public final class Rehearsal {
  private static final ExecutorService BACKGROUND =
      Executors.newSingleThreadExecutor(
          task -> {
            Thread thread = new Thread(task, "rehearsal");
            thread.setDaemon(true);
            return thread;
          });

  /** The Spark whose planning of batches {@link #plan} knows. */
  private static final String WRITTEN_FOR = "4.3.";

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final OperatingSystemMXBean MACHINE =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  /** Planning that takes no more of a processor is compiled. */
  private static final long QUICK_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

  /** How much longer it rests than it works, where the machine has room and where it has not. */
  private static final int SHARE = 3;

  private static final int SMALL_SHARE = 15;

  /** Of all processors, with what others run: the first records of a query take all there is. */
  private static final double BUSY = 0.7;

  private static final int QUICK_IN_A_ROW = 3;
  private static final int MOST = 40;
  private static final long FIRST_BATCH_MS = 30_000;
  private static final long LOOK_MS = 100;

  /** While what the records themselves run is compiled, and before anybody commits. */
  private static final long FIRST_RECORDS_MS = 5_000;

  private final StreamExecution query;

  private Rehearsal(StreamExecution query) {
    this.query = query;
  }

  /**
   * Begins, once the query's first batch runs and the rehearsals begun before have ended.
   *
   * @return how often it was planned; 0 where Spark is not the one that this was written for
   */
  public static Future<Integer> begin(StreamingQuery query) {
    if (query instanceof StreamingQueryWrapper wrapper
        && org.apache.spark.package$.MODULE$.SPARK_VERSION().startsWith(WRITTEN_FOR)) {
      return BACKGROUND.submit(new Rehearsal(wrapper.streamingQuery())::run);
    }
    return CompletableFuture.completedFuture(0);
  }

  /** Plans the batch that a query runs now, so many times, on the caller's thread. */
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
      MACHINE.getCpuLoad(); // Each says what was since the one before.
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
      // The query itself is not concerned: it has ended, or its batch changed underneath.
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
    // As MicroBatchExecution makes it; not the first one, which would write the state's schema.
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
            // Not the query's own, which notes what it is asked.
            WatermarkPropagator.noop(),
            false,
            batch.currentStateStoreCkptId(),
            batch.stateSchemaMetadatas(),
            batch.mode(),
            batch.isTerminatingTrigger(),
            batch.isRealTimeMode());
    SparkPlan plan = again.executedPlan();
    generate(plan);
    // What Spark tells its listeners of each execution.
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
