package io.streamsql.delivery;

import java.io.Serializable;

/**
 * The exactly-once delivery of a query.
 *
 * @param id the query's id. With the checkpoint's id, which is unique, and a task's number it forms
 *     the transactional id, which fences earlier writers
 * @param tokensTopic where each transaction records its progress: compacted, one partition
 * @param intervalMillis how long a transaction stays open; 0: one per task of a micro-batch
 * @param replay how rows that were committed are recognized when a batch is repeated
 */
public record Delivery(String id, String tokensTopic, long intervalMillis, Replay replay)
    implements Serializable {
  /** The prefix of all transactional ids. */
  static final String ID_PREFIX = "streamsql.";

  /** How rows of a repeated batch are compared with committed ones. */
  public enum Replay {
    /** By the record that caused the row, whichever task runs it: no state, no shuffle. */
    SOURCE,
    /** By the causing record and the task: a row's key leads it to the same task again. */
    CAUSE,
    /**
     * By key: the newest row of each key is written, which is at least as new as the committed one.
     */
    KEY
  }

  /** The id of one task's transactions; it fences an earlier run's transactions of that task. */
  String transactionalId(TaskIdentity task) {
    return ID_PREFIX + id + "." + task.checkpoint() + "." + task.task();
  }

  /** The second id of the task, used by every other transaction. */
  static String secondId(String transactionalId) {
    return transactionalId + "-2";
  }

  /** The checkpoint id in a transactional id; null for the id of another application. */
  static String checkpointOf(String transactionalId) {
    int task = transactionalId.lastIndexOf('.');
    int checkpoint = transactionalId.lastIndexOf('.', task - 1);
    boolean ours = transactionalId.startsWith(ID_PREFIX) && checkpoint >= ID_PREFIX.length();
    return ours ? transactionalId.substring(checkpoint + 1, task) : "";
  }
}
