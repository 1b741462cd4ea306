package io.streamsql.epochs;

import java.util.Collection;
import java.util.Map;

/** The ends of the topics of a cluster: by topic, the next offset of each partition. */
public interface Topics {
  /** The ends, records of open transactions included; nothing for a deleted topic. */
  Map<String, Map<Integer, Long>> written(Collection<String> topics) throws InterruptedException;

  /** The ends of what readers of committed records can read, of the partitions of these ends. */
  Map<String, Map<Integer, Long>> committed(Map<String, Map<Integer, Long>> written)
      throws InterruptedException;

  /** Returns when what is written differs from the given ends, or this time has passed. */
  void awaitOthers(Map<String, Map<Integer, Long>> written, long millis)
      throws InterruptedException;
}
