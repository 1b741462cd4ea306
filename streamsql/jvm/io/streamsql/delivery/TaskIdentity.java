package io.streamsql.delivery;

import io.streamsql.runs.QueryRun;
import org.apache.spark.TaskContext;

/**
 * Identifies the task of a run that writes.
 *
 * @param checkpoint the id of the query's checkpoint, the same over all its runs
 * @param run the id of the run
 * @param task its number among the tasks that write in a batch
 * @param batch the number of the batch
 * @param again whether this is a retry within the batch and run
 */
public record TaskIdentity(String checkpoint, String run, long task, long batch, boolean again) {
  private static final String CHECKPOINT = "sql.streaming.queryId";

  /** The identity of the Spark task in this thread. */
  public static TaskIdentity current(long task, long batch) {
    TaskContext context = TaskContext.get();
    return new TaskIdentity(
        context.getLocalProperty(CHECKPOINT),
        context.getLocalProperty(QueryRun.ID),
        task,
        batch,
        context.attemptNumber() > 0 || context.stageAttemptNumber() > 0);
  }
}
