package io.streamsql.monitoring;

import com.fasterxml.jackson.core.JsonGenerator;
import io.streamsql.runs.QueryRun;
import java.io.IOException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StateOperatorProgress;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/**
 * Notes in {@link QueryMetrics} what Spark tells of a query: that it starts, and each batch. Closes
 * its run at its end.
 */
public final class QueryProgress extends StreamingQueryListener {
  private static final long serialVersionUID = 1L;

  private QueryProgress() {}

  /** Listens to the queries of a session, from now on. */
  public static void follow(SparkSession session) {
    session.streams().addListener(new QueryProgress());
  }

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    StreamingQueryProgress progress = event.progress();
    if (progress.name() != null) {
      QueryMetrics.progressed(progress.name(), Seen.of(progress));
    }
  }

  @Override
  public void onQueryStarted(QueryStartedEvent event) {
    if (event.name() != null) {
      QueryMetrics.started(event.name()); // before it has tasks
    }
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {
    QueryRun.close(event.runId().toString());
  }

  /**
   * What is known of the batches so far.
   *
   * @param records how many were read in all of them
   * @param late what Spark itself has dropped since its window had closed: of a GROUP BY, what a
   *     task's rows of one batch, group and window came to
   * @param batchMillis how long the last one took
   * @param stateRows entries of the state after it; -1 before the first batch
   * @param stateMemory bytes of memory that the state takes
   * @param stateDisk bytes of its files
   */
  record Seen(
      long batches,
      long records,
      long late,
      long batchMillis,
      long stateRows,
      long stateMemory,
      long stateDisk) {
    static final Seen NOTHING = new Seen(0, 0, 0, -1, -1, -1, -1);

    static Seen of(StreamingQueryProgress progress) {
      long records = 0;
      for (SourceProgress source : progress.sources()) {
        records += Math.max(0, source.numInputRows());
      }
      long late = 0;
      long rows = 0;
      long memory = 0;
      long disk = 0;
      for (StateOperatorProgress operator : progress.stateOperators()) {
        late += operator.numRowsDroppedByWatermark();
        rows += operator.numRowsTotal();
        memory += operator.memoryUsedBytes();
        disk += operator.customMetrics().getOrDefault("rocksdbSstFileSize", 0L);
      }
      return new Seen(1, records, late, progress.batchDuration(), rows, memory, disk);
    }

    /** These batches and a later one. */
    Seen and(Seen last) {
      return new Seen(
          batches + last.batches,
          records + last.records,
          late + last.late,
          last.batchMillis,
          last.stateRows,
          last.stateMemory,
          last.stateDisk);
    }

    void write(JsonGenerator out) throws IOException {
      out.writeNumberField("batches", batches);
      if (batches > 0) {
        out.writeNumberField("batch_ms", batchMillis);
        out.writeNumberField("state_rows", stateRows);
        out.writeNumberField("state_memory_bytes", stateMemory);
        out.writeNumberField("state_disk_bytes", stateDisk);
      }
    }
  }
}
