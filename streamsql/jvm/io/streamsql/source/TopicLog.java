package io.streamsql.source;

import java.util.Map;
import java.util.Set;

/**
 * The extent of a topic's partitions.
 *
 * @param id Kafka's: a recreated topic has another one
 * @param begins of each partition the first readable offset
 * @param ends of each partition the offset of the next record
 */
record TopicLog(String id, Map<Integer, Long> begins, Map<Integer, Long> ends) {
  /** Reads the extent of topics. */
  interface Logs {
    /** The existing ones of these partitions; null: the topic does not exist. */
    TopicLog of(String topic, Set<Integer> partitions) throws InterruptedException;
  }
}
