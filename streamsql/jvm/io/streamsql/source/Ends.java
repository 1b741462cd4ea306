package io.streamsql.source;

import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicPartition;

/** The ends of topics: the next offset of each partition; nothing for a deleted topic. */
interface Ends {
  /** The current ends. */
  Map<String, Map<Integer, Long>> now(Collection<String> topics) throws InterruptedException;

  /**
   * The ends up to which partitions can be read now. Those of deleted topics are missing; it fails
   * if Kafka does not answer.
   */
  CompletableFuture<Map<TopicPartition, Long>> readable(Set<TopicPartition> partitions);

  /** Returns when the ends of these topics differ from the given ones, or this time has passed. */
  void awaitOthers(Map<String, Map<Integer, Long>> known, long millis) throws InterruptedException;
}
