package io.streamsql.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.epochs.Cut;
import io.streamsql.epochs.EpochMarks;
import io.streamsql.epochs.FollowedEpochs;
import io.streamsql.formats.Json;
import io.streamsql.kafka.ByteArrays;
import io.streamsql.kafka.SharedProducers;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;

/**
 * Those of a push query over views, which follows them. Its topic gets a mark after the rows of
 * each: a record with the key {@code epoch}.
 */
final class PushEpochs extends InputEpochs {
  private static final byte[] KEY = ByteArrays.utf8("epoch");
  private static final long PATIENCE_MILLIS = 1_000;

  private final String topic;
  private final List<String> inputs;
  private final boolean progress;
  private final Map<String, String> producer;
  private final FollowedEpochs followed;
  private Cut current;
  private long time;
  private long done;

  /**
   * @param query as JSON: {@code push} is the topic that it writes, {@code inputs} those of views
   *     that it reads, {@code log} the topic of epochs; with {@code progress} there is a mark also
   *     of an epoch without news
   * @param producer settings for the marks
   */
  PushEpochs(JsonNode query, Map<String, String> producer) {
    topic = query.path("push").asText();
    inputs = query.path("inputs").valueStream().map(JsonNode::asText).toList();
    progress = query.path("progress").asBoolean();
    this.producer = producer;
    Map<String, String> connection = new HashMap<>();
    ByteArrays.connection(producer).forEach((name, value) -> connection.put(name, "" + value));
    followed = FollowedEpochs.open(query.path("log").asText(), connection);
  }

  @Override
  Cut next(Collection<String> topics, Map<String, Map<Integer, Long>> positions)
      throws InterruptedException {
    if (current != null && !current.isReached(positions)) {
      return current; // A batch may be limited: it has not taken all of the epoch.
    }
    if (current != null) {
      mark();
    }
    EpochMarks marks = followed.marks();
    while (!marks.awaitComplete(PATIENCE_MILLIS)) {
      // The log is still being read, or there is no broker.
    }
    while (true) {
      begin(marks.awaitCommon(inputs, done));
      if (!current.isReached(positions)) {
        return current;
      }
      if (progress) {
        mark();
      }
      done = current.epoch();
    }
  }

  private void begin(Map<String, EpochMarks.Mark> of) {
    Map<String, Map<Integer, Long>> ends = new HashMap<>();
    of.forEach((input, mark) -> ends.put(input, mark.ends()));
    EpochMarks.Mark any = of.get(inputs.get(0));
    current = new Cut(any.epoch(), ends);
    time = any.time();
  }

  /** Returns when the mark is behind all rows of the epoch: they have been acknowledged. */
  private void mark() throws InterruptedException {
    ObjectNode value = Json.TREES.createObjectNode().put("epoch", current.epoch());
    value.put("time", time);
    byte[] written = ByteArrays.utf8(value.toString());
    try {
      SharedProducers.get(producer).send(new ProducerRecord<>(topic, 0, KEY, written)).get();
    } catch (ExecutionException failed) {
      throw failed.getCause() instanceof KafkaException error ? error : new KafkaException(failed);
    }
    done = current.epoch();
  }

  @Override
  void close() {
    followed.close();
  }
}
