package io.streamsql.shuffle;

import java.util.Arrays;

/** One shuffle of one batch: a lane for each partition that is read. */
final class Exchange {
  private final Lane[] lanes;
  private volatile String run = "";

  Exchange(int writers, int partitions) {
    lanes = new Lane[partitions];
    for (int i = 0; i < partitions; i++) {
      lanes[i] = new Lane(writers);
    }
  }

  Lane lane(int partition) {
    return lanes[partition];
  }

  int partitions() {
    return lanes.length;
  }

  /** Notes the run of the query whose tasks read it. */
  void readBy(String runId) {
    run = runId;
  }

  /** For how long a reader has had rows without a break, in ns; 0 if they are of another run. */
  long workingFor(String runId) {
    return run.equals(runId) ? Arrays.stream(lanes).mapToLong(Lane::workingFor).max().orElse(0) : 0;
  }
}
