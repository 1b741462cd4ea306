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
  boolean isReached(Map<String, Map<Integer, Long>> positions) {
    return ends.entrySet().stream()
        .allMatch(
            topic -> {
              Map<Integer, Long> at = positions.get(topic.getKey());
              return at != null
                  && topic.getValue().entrySet().stream()
                      .allMatch(e -> at.getOrDefault(e.getKey(), 0L) >= e.getValue());
            });
  }

  /** Where a topic ends, if a partition would end at {@code end}, having begun at {@code start}. */
  public long end(String topic, int partition, long start, long end) {
    Map<Integer, Long> of = ends.get(topic);
    return of == null ? end : Math.max(start, Math.min(end, of.getOrDefault(partition, 0L)));
  }
}
