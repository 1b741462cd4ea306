package io.streamsql.source;

import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicPartition;

/** Where topics end: for each the next offset of each of its partitions; none where it is gone. */
interface Ends {
  /** The ends as they are now. */
  Map<String, Map<Integer, Long>> now(Collection<String> topics) throws InterruptedException;

  /** Asks up to where partitions can be read now; the answer has those that are there. */
  CompletableFuture<Map<TopicPartition, Long>> readable(Set<TopicPartition> partitions);

  /** Returns when the ends of these topics are no longer those that are given. */
  void awaitOthers(Map<String, Map<Integer, Long>> known) throws InterruptedException;
}
