package io.streamsql.epochs;

import java.util.Map;

/**
 * Where the inputs of a view end in an epoch.
 *
 * @param epoch its number
 * @param ends by topic, the next offset of each partition
 */
public record Cut(long epoch, Map<String, Map<Integer, Long>> ends) {
  /** Whether these positions include all of it. */
  public boolean isReached(Map<String, Map<Integer, Long>> positions) {
    return ends.entrySet().stream()
        .allMatch(
            topic -> {
              Map<Integer, Long> at = positions.get(topic.getKey());
              return at != null && isWithin(topic.getValue(), at);
            });
  }

  /** Whether the ends of a topic's partitions are at or before others. */
  public static boolean isWithin(Map<Integer, Long> ends, Map<Integer, Long> others) {
    return ends.entrySet().stream()
        .allMatch(e -> others.getOrDefault(e.getKey(), 0L) >= e.getValue());
  }
}
