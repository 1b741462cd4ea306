package io.streamsql.source;

import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.epochs.Cut;
import io.streamsql.formats.Json;
import java.util.Collection;
import java.util.Map;

/** The epochs that a query goes through: where its micro-batches end. */
abstract class InputEpochs {
  /** Where the inputs end in the epoch that the query works on; null: it has not begun one. */
  private JsonNode bounds;

  /** Waits until an epoch has news for the query, which reads these topics, at these positions. */
  final void await(Collection<String> topics, Map<String, Map<Integer, Long>> positions)
      throws InterruptedException {
    Cut next = next(topics, positions);
    synchronized (this) {
      bounds = Json.TREES.valueToTree(next.ends());
    }
  }

  abstract Cut next(Collection<String> topics, Map<String, Map<Integer, Long>> positions)
      throws InterruptedException;

  /** Where a batch ends, as {@link ReadUntil#bounded}. */
  final synchronized String bounded(String topic, String start, String end) {
    return bounds == null ? end : ReadUntil.least(bounds, topic, start, end);
  }

  /** What the query has written up to these positions is committed. */
  void ended(Map<String, Map<Integer, Long>> positions) throws InterruptedException {}

  /** The number of the epoch that the query works on; 0: none. */
  long epoch() {
    return 0;
  }

  abstract void close();
}
