package io.streamsql.shuffle;

import java.util.Arrays;

/** One shuffle of one batch: a queue for each partition that is read. */
final class Exchange {
  private final RowQueue[] queues;
  private volatile String run = "";

  Exchange(int writers, int partitions) {
    queues = new RowQueue[partitions];
    for (int i = 0; i < partitions; i++) {
      queues[i] = new RowQueue(writers);
    }
  }

  RowQueue queue(int partition) {
    return queues[partition];
  }

  int partitions() {
    return queues.length;
  }

  /** Notes the run of the query whose tasks read it. */
  void readBy(String runId) {
    run = runId;
  }

  /** How long a reader has had rows without a break, in ns; 0 for another run. */
  long workingFor(String runId) {
    return run.equals(runId)
        ? Arrays.stream(queues).mapToLong(RowQueue::workingFor).max().orElse(0)
        : 0;
  }
}
