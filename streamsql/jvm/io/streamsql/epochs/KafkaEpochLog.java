package io.streamsql.epochs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.formats.Json;
import io.streamsql.kafka.ByteArrays;
import io.streamsql.kafka.SharedProducers;
import io.streamsql.kafka.WriteLease;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/**
 * A compacted topic of one partition. Its records, as JSON:
 *
 * <pre>
 * {"topic": "T"}  {"epoch": 7, "time": 1700000000000, "ends": {"0": 4}}   T has epoch 7
 * {"topic": "T"}  null                                                    the topic is deleted
 * {}              {"epoch": 7, "time": 1700000000000, "cut": {..}}        epoch 7 begins
 * </pre>
 *
 * <p>Readers ignore fields that they do not know.
 */
public final class KafkaEpochLog implements EpochLog {
  private static final Duration POLL = Duration.ofMillis(100);
  private static final byte[] BEGIN = ByteArrays.utf8("{}");

  private final String topic;
  private final Map<String, String> settings;
  private final WriteLease lease;
  private long newest = -1;

  /**
   * @param settings of a producer
   */
  public KafkaEpochLog(String topic, Map<String, String> settings) {
    this.topic = topic;
    this.settings = settings;
    lease = WriteLease.of(settings);
  }

  @Override
  public synchronized long newest() {
    if (newest < 0) {
      newest = read();
    }
    return newest;
  }

  private long read() {
    long found = 0;
    TopicPartition place = new TopicPartition(topic, 0);
    try (KafkaConsumer<byte[], byte[]> consumer =
        ByteArrays.consumer(ByteArrays.connection(settings), Map.of())) {
      consumer.assign(List.of(place));
      consumer.seekToBeginning(List.of(place));
      long end = consumer.endOffsets(List.of(place)).get(place);
      while (consumer.position(place) < end) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
          found = Math.max(found, epoch(record.value()));
        }
      }
    }
    return found;
  }

  private static long epoch(byte[] value) {
    try {
      JsonNode found = value == null ? null : Json.TREES.readTree(value);
      return found == null ? 0 : found.path("epoch").asLong();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void begins(long epoch, long time, Map<String, Map<Integer, Long>> cut)
      throws InterruptedException {
    ObjectNode value = Json.TREES.createObjectNode().put("epoch", epoch).put("time", time);
    value.set("cut", Json.TREES.valueToTree(cut));
    awaitLease();
    try {
      SharedProducers.get(settings).send(record(BEGIN, value)).get();
    } catch (ExecutionException failed) {
      throw failed.getCause() instanceof KafkaException error ? error : new KafkaException(failed);
    }
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // The next epoch's record says the same and more.
  public void ends(String of, long epoch, long time, Map<Integer, Long> ends) {
    ObjectNode key = Json.TREES.createObjectNode().put("topic", of);
    ObjectNode value = Json.TREES.createObjectNode().put("epoch", epoch);
    if (time > 0) {
      value.put("time", time);
    }
    value.set("ends", Json.TREES.valueToTree(ends));
    awaitLease();
    SharedProducers.get(settings).send(record(ByteArrays.utf8(key.toString()), value));
  }

  private ProducerRecord<byte[], byte[]> record(byte[] key, ObjectNode value) {
    return new ProducerRecord<>(topic, 0, key, ByteArrays.utf8(value.toString()));
  }

  private void awaitLease() {
    if (lease != null) {
      lease.await();
    }
  }
}
