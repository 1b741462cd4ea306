package io.streamsql.delivery;

import java.io.Serializable;

/**
 * How a query's records are written, each exactly once.
 *
 * @param id the query's. With that of its checkpoint, which is nobody else's, and a task's number
 *     it is a transactional id, which fences whoever wrote under it before
 * @param tokensTopic where each transaction says how far it reaches: compacted, one partition
 * @param intervalMillis how long a transaction stays open; 0: one for each task of a micro-batch
 * @param replay what tells rows that were committed from others when a batch is run again
 */
public record Delivery(String id, String tokensTopic, long intervalMillis, Replay replay)
    implements Serializable {
  /** What all transactional ids begin with. */
  static final String ID_PREFIX = "streamsql.";

  /** What a row is compared by when a batch is run again. */
  public enum Replay {
    /** The record that caused it, wherever its task runs: no state and no shuffle is involved. */
    SOURCE,
    /** The record that caused it, and its task: a row's key leads it to the same task again. */
    CAUSE,
    /** Its key: the newest of each is written, which is at least as new as what was committed. */
    KEY
  }

  /** Of one task: transactions of an earlier run that have the same one are fenced. */
  String transactionalId(TaskIdentity task) {
    return ID_PREFIX + id + "." + task.checkpoint() + "." + task.task();
  }

  /** Of the same task: that of every other transaction. */
  static String secondId(String transactionalId) {
    return transactionalId + "-2";
  }

  /** Of which checkpoint's query a transactional id is; none: it is none of ours. */
  static String checkpointOf(String transactionalId) {
    int task = transactionalId.lastIndexOf('.');
    int checkpoint = transactionalId.lastIndexOf('.', task - 1);
    boolean ours = transactionalId.startsWith(ID_PREFIX) && checkpoint >= ID_PREFIX.length();
    return ours ? transactionalId.substring(checkpoint + 1, task) : "";
  }
}
