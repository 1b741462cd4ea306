package io.streamsql.source;

import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.epochs.Cut;
import io.streamsql.epochs.EpochView;
import io.streamsql.epochs.Epochs;
import io.streamsql.epochs.KafkaEpochLog;
import io.streamsql.epochs.Topics;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/**
 * Those of a view, which takes part in them. It joins them with its first batch, unless its run
 * ends with the records that are there.
 */
final class ViewEpochs extends InputEpochs {
  private static final Map<Map<String, String>, Epochs> CLUSTERS = new ConcurrentHashMap<>();

  private final String query;
  private final JsonNode view;
  private final Map<String, String> producer;
  private final Ends ends;
  private final Clock clock;
  private EpochView joined;

  /**
   * @param view as JSON: {@code topic} is what the query writes, {@code inputs} the topics of views
   *     that it reads, {@code freshness} the least time between epochs in ms, {@code log} the topic
   *     of epochs
   * @param producer settings for the log
   */
  ViewEpochs(String query, JsonNode view, Map<String, String> producer, Ends ends, Clock clock) {
    this.query = query;
    this.view = view;
    this.producer = producer;
    this.ends = ends;
    this.clock = clock;
  }

  private EpochView join(Collection<String> topics) {
    Set<String> inputs = new HashSet<>();
    view.path("inputs").forEach(topic -> inputs.add(topic.asText()));
    Set<String> bases = new HashSet<>(topics);
    bases.removeAll(inputs);
    String log = view.path("log").asText();
    return CLUSTERS
        .computeIfAbsent(
            producer,
            of ->
                new Epochs(new OfEnds(ends), new KafkaEpochLog(log, of), System::currentTimeMillis))
        .join(
            query,
            view.path("topic").asText(),
            bases,
            inputs,
            view.path("freshness").asLong(),
            clock::due);
  }

  @Override
  Cut next(Collection<String> topics, Map<String, Map<Integer, Long>> positions)
      throws InterruptedException {
    EpochView of;
    synchronized (this) {
      if (joined == null) {
        joined = join(topics);
      }
      of = joined;
    }
    return of.next(positions);
  }

  @Override
  void ended(Map<String, Map<Integer, Long>> positions) throws InterruptedException {
    EpochView of;
    synchronized (this) {
      of = joined;
    }
    if (of != null) {
      of.batchEnded(positions);
    }
  }

  @Override
  synchronized long epoch() {
    return joined == null ? 0 : joined.epoch();
  }

  @Override
  synchronized void close() {
    if (joined != null) {
      joined.close();
      joined = null;
    }
  }

  /** What holds back queries of this process, by query. */
  static Map<String, Epochs.Held> held() {
    Map<String, Epochs.Held> found = new HashMap<>();
    CLUSTERS.values().forEach(epochs -> found.putAll(epochs.held()));
    return found;
  }

  private record OfEnds(Ends ends) implements Topics {
    @Override
    public Map<String, Map<Integer, Long>> written(Collection<String> topics)
        throws InterruptedException {
      return ends.now(topics);
    }

    @Override
    public Map<String, Map<Integer, Long>> committed(Map<String, Map<Integer, Long>> written)
        throws InterruptedException {
      Set<TopicPartition> places = new HashSet<>();
      Map<String, Map<Integer, Long>> found = new HashMap<>();
      written.forEach(
          (topic, partitions) -> {
            found.put(topic, new HashMap<>());
            partitions.keySet().forEach(number -> places.add(new TopicPartition(topic, number)));
          });
      try {
        ends.readable(places)
            .get()
            .forEach((place, end) -> found.get(place.topic()).put(place.partition(), end));
      } catch (ExecutionException failed) {
        throw new KafkaException(failed);
      }
      return found;
    }

    @Override
    public void awaitOthers(Map<String, Map<Integer, Long>> written, long millis)
        throws InterruptedException {
      ends.awaitOthers(written, millis);
    }
  }
}
