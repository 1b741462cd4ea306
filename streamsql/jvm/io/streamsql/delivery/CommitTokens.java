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
 * The newest committed token of each task of each query, out of the topic that holds them. It is
 * read when a query starts, and from where the last reading ended.
 */
final class CommitTokens {
  private static final Map<String, CommitTokens> TOPICS = new ConcurrentHashMap<>();
  private static final Duration POLL = Duration.ofMillis(100);

  /** Longer than a transaction lives that nobody ends: until then it hides what comes after it. */
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
   * Those of a cluster.
   *
   * @param clientSettings how to reach it
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
   * The tokens of a checkpoint's query by the numbers of its tasks, as far as they are committed
   * now. Waits for transactions that are open now: an earlier run's are fenced by its successor.
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
        broken.close(); // It fails where the task is interrupted.
      }
    }
    return parsed(newest.getOrDefault(checkpoint, Map.of()));
  }

  private long end() {
    try (Admin admin = Admin.create(settings)) {
      // Read-uncommitted, as is the default: beyond all transactions that are open.
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
        throw new KafkaException("transactions stay open that hide the commit tokens: " + hidden());
      }
    }
  }

  /** What is open in the tokens' topic, with the state that its coordinator knows of. */
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
        return "they have just ended"; // Kafka takes no producers for all of them.
      }
      List<String> found = new ArrayList<>();
      ListTransactionsOptions theirs = new ListTransactionsOptions().filterProducerIds(producers);
      for (TransactionListing listing : admin.listTransactions(theirs).all().get()) {
        found.add(listing.transactionalId() + " (" + listing.state() + ")");
      }
      return found
          + ". One that is neither Ongoing nor being prepared hangs: Kafka has lost its marker,"
          + " and kafka-transactions.sh ends it";
    } catch (ExecutionException unknown) {
      return "which, Kafka does not tell: " + unknown.getMessage();
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

  /** Tokens are not looked into before they are asked for: others' may be of a later version. */
  static Map<Long, CommitToken> parsed(Map<String, byte[]> tokens) {
    Map<Long, CommitToken> found = new HashMap<>();
    for (Map.Entry<String, byte[]> token : tokens.entrySet()) {
      CommitToken said = CommitToken.of(token.getValue());
      found.put(Long.valueOf(token.getKey()), said);
    }
    return found;
  }
}
