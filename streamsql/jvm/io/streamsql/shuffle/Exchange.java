package io.streamsql.shuffle;

/** One shuffle of one batch: a lane for each partition that is read. */
final class Exchange {
  private final Lane[] lanes;

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
}
