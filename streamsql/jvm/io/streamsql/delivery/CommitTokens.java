package io.streamsql.delivery;

import io.streamsql.kafka.ByteArrays;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/**
 * The newest committed token of each task of each query, from the topic that holds them. The topic
 * is read when a query starts, from the end of the previous reading.
 */
final class CommitTokens {
  private static final Map<String, CommitTokens> TOPICS = new ConcurrentHashMap<>();
  private static final Duration POLL = Duration.ofMillis(100);

  /** Longer than the timeout of an abandoned transaction, which hides the records after it. */
  private static final long MOST_NANOS = 120_000_000_000L;

  private final Map<String, Object> settings;
  private final TopicPartition place;
  private final Map<String, Map<String, byte[]>> newest = new HashMap<>();
  private KafkaConsumer<byte[], byte[]> consumer;

  private CommitTokens(Map<String, Object> settings, String topic) {
    this.settings = settings;
    this.place = new TopicPartition(topic, 0);
  }

  /**
   * The tokens of a cluster.
   *
   * @param clientSettings the cluster's connection
   */
  static CommitTokens of(Map<String, Object> clientSettings, String topic) {
    String name = clientSettings.get("bootstrap.servers") + " " + topic;
    return TOPICS.computeIfAbsent(name, n -> new CommitTokens(clientSettings, topic));
  }

  /** A key of the topic. */
  static byte[] key(String run, long task) {
    return ByteArrays.utf8(run + "/" + task);
  }

  /**
   * The committed tokens of the checkpoint's query by task number. Waits for open transactions:
   * those of an earlier run are fenced by its successor.
   */
  synchronized Map<Long, CommitToken> of(String checkpoint) {
    boolean read = false;
    try {
      readTo(end());
      read = true;
    } finally {
      if (!read && consumer != null) {
        KafkaConsumer<byte[], byte[]> broken = consumer;
        consumer = null;
        newest.clear();
        broken.close(); // Fails when the task is interrupted.
      }
    }
    return parsed(newest.getOrDefault(checkpoint, Map.of()));
  }

  private long end() {
    try (Admin admin = Admin.create(settings)) {
      // Read-uncommitted, the default: the offset behind all open transactions.
      return admin
          .listOffsets(Map.of(place, OffsetSpec.latest()))
          .partitionResult(place)
          .get()
          .offset();
    } catch (ExecutionException failed) {
      throw failed.getCause() instanceof KafkaException error ? error : new KafkaException(failed);
    } catch (InterruptedException stopped) {
      throw new org.apache.kafka.common.errors.InterruptException(stopped);
    }
  }

  private void readTo(long end) {
    if (consumer == null) {
      consumer = ByteArrays.consumer(settings, Map.of("isolation.level", "read_committed"));
      consumer.assign(List.of(place));
      consumer.seekToBeginning(List.of(place));
    }
    long deadline = System.nanoTime() + MOST_NANOS;
    while (consumer.position(place) < end) {
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
        note(record);
      }
      if (System.nanoTime() > deadline) {
        throw new KafkaException("open transactions hide the commit tokens: " + hidden());
      }
    }
  }

  /** The open transactions of the tokens' topic, each with its coordinator's state. */
  private String hidden() {
    try (Admin admin = Admin.create(settings)) {
      Set<Long> producers = new HashSet<>();
      for (ProducerState producer :
          admin.describeProducers(List.of(place)).partitionResult(place).get().activeProducers()) {
        if (producer.currentTransactionStartOffset().isPresent()) {
          producers.add(producer.producerId());
        }
      }
      if (producers.isEmpty()) {
        return "they have just ended"; // for Kafka, not producers of all of them
      }
      List<String> found = new ArrayList<>();
      ListTransactionsOptions theirs = new ListTransactionsOptions().filterProducerIds(producers);
      for (TransactionListing listing : admin.listTransactions(theirs).all().get()) {
        found.add(listing.transactionalId() + " (" + listing.state() + ")");
      }
      return found
          + ". A transaction that is neither Ongoing nor being prepared hangs: Kafka has lost its"
          + " marker, and kafka-transactions.sh ends it";
    } catch (ExecutionException unknown) {
      return "Kafka does not list them: " + unknown.getMessage();
    } catch (InterruptedException stopped) {
      throw new org.apache.kafka.common.errors.InterruptException(stopped);
    }
  }

  private void note(ConsumerRecord<byte[], byte[]> record) {
    String key = ByteArrays.text(record.key());
    int slash = key.indexOf('/');
    String checkpoint = slash < 0 ? key : key.substring(0, slash);
    String task = key.substring(slash + 1);
    Map<String, byte[]> known = newest.computeIfAbsent(checkpoint, name -> new HashMap<>());
    if (record.value() == null) {
      known.remove(task);
    } else {
      known.put(task, record.value());
    }
    if (known.isEmpty()) {
      newest.remove(checkpoint);
    }
  }

  /** Tokens are parsed on request only: those of other queries may have a later version. */
  static Map<Long, CommitToken> parsed(Map<String, byte[]> tokens) {
    Map<Long, CommitToken> found = new HashMap<>();
    for (Map.Entry<String, byte[]> token : tokens.entrySet()) {
      CommitToken said = CommitToken.of(token.getValue());
      found.put(Long.valueOf(token.getKey()), said);
    }
    return found;
  }
}
