package io.streamsql.delivery;

import org.apache.spark.TaskContext;

/**
 * Which task of which run writes.
 *
 * @param checkpoint the id of the query's checkpoint, the same over all its runs
 * @param run the id of the run
 * @param task its number among those that write in a batch
 * @param batch the number of the batch
 * @param again whether it has been tried before, in this batch and run
 */
public record TaskIdentity(String checkpoint, String run, long task, long batch, boolean again) {
  private static final String CHECKPOINT = "sql.streaming.queryId";
  private static final String RUN = "spark.jobGroup.id";

  /** That of the task of Spark in this thread. */
  public static TaskIdentity current(long task, long batch) {
    TaskContext context = TaskContext.get();
    return new TaskIdentity(
        context.getLocalProperty(CHECKPOINT),
        context.getLocalProperty(RUN),
        task,
        batch,
        context.attemptNumber() > 0 || context.stageAttemptNumber() > 0);
  }
}
