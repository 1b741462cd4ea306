package io.streamsql.source;

import java.util.Map;
import java.util.Set;

/**
 * What of a topic's partitions is there.
 *
 * @param id Kafka's: that of a topic that was deleted and made anew is another one
 * @param begins of each partition the first offset that can be read
 * @param ends of each partition the offset of the next record that will be written
 */
record TopicLog(String id, Map<Integer, Long> begins, Map<Integer, Long> ends) {
  /** Where that is looked up. */
  interface Logs {
    /** Of these partitions, those that are there; null: there is no such topic. */
    TopicLog of(String topic, Set<Integer> partitions) throws InterruptedException;
  }
}
