package io.streamsql.epochs;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.formats.Json;
import io.streamsql.kafka.ByteArrays;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the marks of epochs from {@link KafkaEpochLog}: one thread for all users of a cluster. */
public final class FollowedEpochs implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(FollowedEpochs.class);
  private static final Duration POLL = Duration.ofMillis(200);
  private static final long RETRY_MILLIS = 1_000;
  private static final long PATIENCE_MILLIS = 10_000;
  private static final TypeReference<Map<Integer, Long>> ENDS = new TypeReference<>() {};
  private static final Map<Map<String, String>, FollowedEpochs> CLUSTERS =
      new ConcurrentHashMap<>();

  private final String log;
  private final Map<String, String> settings;
  private final EpochMarks marks = new EpochMarks();
  private int users;
  private volatile boolean closed;

  private FollowedEpochs(String log, Map<String, String> settings) {
    this.log = log;
    this.settings = settings;
  }

  /**
   * The epochs of a cluster, which each user has to close.
   *
   * @param settings of the connection, with bootstrap.servers
   */
  public static FollowedEpochs open(String log, Map<String, String> settings) {
    return CLUSTERS.compute(
        settings,
        (connection, known) -> {
          FollowedEpochs found = known == null ? new FollowedEpochs(log, connection) : known;
          if (known == null) {
            Thread thread = new Thread(found::run, "epoch marks");
            thread.setDaemon(true);
            thread.start();
          }
          found.users++;
          return found;
        });
  }

  /**
   * Where topics of views end the newest epoch that all of them have, as JSON of Spark's offsets;
   * null: there is none.
   */
  public static String newestEnds(
      String log, Map<String, String> settings, Collection<String> topics)
      throws IOException, InterruptedException {
    // Copied: each access to Python's collections calls Python.
    try (FollowedEpochs followed = open(log, Map.copyOf(settings))) {
      EpochMarks marks = followed.marks;
      Map<String, EpochMarks.Mark> newest =
          marks.awaitComplete(PATIENCE_MILLIS) ? marks.common(List.copyOf(topics), 0) : null;
      if (newest == null) {
        return null;
      }
      Map<String, Map<Integer, Long>> ends = new HashMap<>();
      newest.forEach((topic, mark) -> ends.put(topic, mark.ends()));
      return Json.TREES.writeValueAsString(ends);
    }
  }

  public EpochMarks marks() {
    return marks;
  }

  /** One user less; the last one ends the reading. */
  @Override
  public void close() {
    CLUSTERS.computeIfPresent(
        settings,
        (connection, known) -> {
          if (known != this || --users > 0) {
            return known;
          }
          closed = true;
          return null;
        });
  }

  private void run() {
    while (!closed) {
      try {
        follow();
      } catch (RuntimeException failed) {
        LOG.warn("The log of epochs cannot be read; retrying", failed);
        try {
          Thread.sleep(RETRY_MILLIS);
        } catch (InterruptedException stopped) {
          return;
        }
      }
    }
  }

  private void follow() {
    TopicPartition place = new TopicPartition(log, 0);
    try (KafkaConsumer<byte[], byte[]> consumer = ByteArrays.consumer(settings, Map.of())) {
      consumer.assign(List.of(place));
      consumer.seekToBeginning(List.of(place));
      long end = consumer.endOffsets(List.of(place)).get(place);
      while (!closed) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
          take(record);
        }
        if (consumer.position(place) >= end) {
          marks.completed();
        }
      }
    }
  }

  private void take(ConsumerRecord<byte[], byte[]> record) {
    try {
      JsonNode key = Json.TREES.readTree(record.key());
      if (record.value() == null) {
        if (key.has("topic")) {
          marks.forget(key.get("topic").asText());
        }
        return;
      }
      JsonNode value = Json.TREES.readTree(record.value());
      long epoch = value.path("epoch").asLong();
      if (key.has("topic")) {
        // Those that 0.2.0 wrote have no time of their own.
        long time = value.path("time").asLong(record.timestamp());
        Map<Integer, Long> ends = Json.TREES.convertValue(value.path("ends"), ENDS);
        marks.add(key.get("topic").asText(), new EpochMarks.Mark(epoch, time, ends));
      } else {
        marks.begin(epoch);
      }
    } catch (IOException e) {
      LOG.warn("A record of the log of epochs cannot be read", e);
    }
  }
}
