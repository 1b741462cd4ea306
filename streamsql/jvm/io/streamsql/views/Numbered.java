package io.streamsql.views;

import org.apache.spark.Partition;

/** A partition that is nothing but its number. */
record Numbered(int index) implements Partition {
  static Partition[] upTo(int count) {
    Partition[] partitions = new Partition[count];
    for (int i = 0; i < count; i++) {
      partitions[i] = new Numbered(i);
    }
    return partitions;
  }
}
