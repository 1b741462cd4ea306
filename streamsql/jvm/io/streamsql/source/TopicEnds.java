package io.streamsql.source;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches the topics' ends of one Kafka cluster: one thread for all sleeping queries, only while a
 * query sleeps.
 */
final class TopicEnds implements Ends, TopicLog.Logs {
  private static final Logger LOG = LoggerFactory.getLogger(TopicEnds.class);
  private static final long LOOK_MILLIS = 100;
  private static final long TROUBLE_MILLIS = 1_000;

  /** How long added partitions may stay unnoticed. */
  private static final long PARTITIONS_NANOS = TimeUnit.SECONDS.toNanos(5);

  private static final ListOffsetsOptions PATIENCE = new ListOffsetsOptions().timeoutMs(2_000);
  private static final String PREFIX = "kafka.";
  private static final Map<Map<String, Object>, TopicEnds> CLUSTERS = new ConcurrentHashMap<>();

  private final Admin admin;
  private final Admin shared;
  private final ListOffsetsOptions readable;
  private final List<Sleeper> sleepers = new ArrayList<>();
  private Thread watcher;

  private TopicEnds(Map<String, Object> settings) {
    this(settings, Admin.create(settings));
  }

  TopicEnds(Map<String, Object> settings, Admin admin) {
    this.admin = admin;
    shared = unclosed(admin);
    readable =
        new ListOffsetsOptions(
                committedOnly(settings)
                    ? IsolationLevel.READ_COMMITTED
                    : IsolationLevel.READ_UNCOMMITTED)
            .timeoutMs(2_000);
  }

  /** The ends of the cluster of these settings. */
  static TopicEnds of(Map<String, Object> settings) {
    return CLUSTERS.computeIfAbsent(settings, TopicEnds::new);
  }

  /**
   * The client that all queries of the cluster share. Closing it does nothing, since Spark's
   * readers close theirs with their query.
   */
  Admin shared() {
    return shared;
  }

  private static Admin unclosed(Admin admin) {
    InvocationHandler pass =
        (self, method, arguments) -> {
          if (method.getName().equals("close")) {
            return null;
          }
          try {
            return method.invoke(admin, arguments);
          } catch (InvocationTargetException failed) {
            throw failed.getCause();
          }
        };
    return (Admin)
        Proxy.newProxyInstance(Admin.class.getClassLoader(), new Class<?>[] {Admin.class}, pass);
  }

  /** The settings of Kafka's clients in a source's options. */
  static Map<String, Object> settings(CaseInsensitiveStringMap options) {
    return new HashMap<>(settings(options, PREFIX));
  }

  /** The options whose names begin with a prefix, without it. */
  static Map<String, String> settings(CaseInsensitiveStringMap options, String prefix) {
    Map<String, String> settings = new HashMap<>();
    options
        .asCaseSensitiveMap()
        .forEach(
            (name, value) -> {
              if (name.startsWith(prefix)) {
                settings.put(name.substring(prefix.length()), value);
              }
            });
    return settings;
  }

  /** Whether a consumer with these settings reads records of committed transactions only. */
  static boolean committedOnly(Map<String, Object> settings) {
    return "read_committed".equals(settings.get(ConsumerConfig.ISOLATION_LEVEL_CONFIG));
  }

  @Override
  public Map<String, Map<Integer, Long>> now(Collection<String> topics)
      throws InterruptedException {
    return ends(partitions(topics));
  }

  @Override
  public CompletableFuture<Map<TopicPartition, Long>> readable(Set<TopicPartition> partitions) {
    Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
    partitions.forEach(place -> asked.put(place, OffsetSpec.latest()));
    ListOffsetsResult answers = admin.listOffsets(asked, readable);
    Map<TopicPartition, Long> found = new ConcurrentHashMap<>();
    return CompletableFuture.allOf(
            partitions.stream()
                .map(
                    place ->
                        answers
                            .partitionResult(place)
                            .toCompletionStage()
                            .thenAccept(end -> found.put(place, end.offset()))
                            .exceptionallyCompose(failed -> unlessDeleted(place.topic(), failed))
                            .toCompletableFuture())
                .toArray(CompletableFuture[]::new))
        .thenApply(all -> found);
  }

  /** The failure, unless the topic does not exist: a request for its ends then only times out. */
  private CompletionStage<Void> unlessDeleted(String topic, Throwable failure) {
    return admin
        .describeTopics(Set.of(topic))
        .topicNameValues()
        .get(topic)
        .toCompletionStage()
        .handle((description, failed) -> failed)
        .thenCompose(
            failed ->
                cause(failed) instanceof UnknownTopicOrPartitionException
                    ? CompletableFuture.completedFuture(null)
                    : CompletableFuture.failedFuture(failure));
  }

  private static Throwable cause(Throwable failed) {
    return failed instanceof CompletionException wrapped ? wrapped.getCause() : failed;
  }

  @Override
  public TopicLog of(String topic, Set<Integer> partitions) throws InterruptedException {
    Map<TopicPartition, OffsetSpec> first = new HashMap<>();
    Map<TopicPartition, OffsetSpec> next = new HashMap<>();
    for (Integer partition : partitions) {
      TopicPartition place = new TopicPartition(topic, partition);
      first.put(place, OffsetSpec.earliest());
      next.put(place, OffsetSpec.latest());
    }
    // All three requests run at the same time.
    KafkaFuture<TopicDescription> asked =
        admin.describeTopics(Set.of(topic)).topicNameValues().get(topic);
    ListOffsetsResult begins = admin.listOffsets(first);
    ListOffsetsResult ends = admin.listOffsets(next);
    TopicDescription description = orNull(asked);
    if (description == null) {
      return null;
    }
    TopicLog found =
        new TopicLog(description.topicId().toString(), new HashMap<>(), new HashMap<>());
    for (TopicPartition place : first.keySet()) {
      ListOffsetsResult.ListOffsetsResultInfo begin = orNull(begins.partitionResult(place));
      ListOffsetsResult.ListOffsetsResultInfo end = orNull(ends.partitionResult(place));
      if (begin != null && end != null) {
        found.begins().put(place.partition(), begin.offset());
        found.ends().put(place.partition(), end.offset());
      }
    }
    return found;
  }

  @Override
  public void awaitOthers(Map<String, Map<Integer, Long>> known, long millis)
      throws InterruptedException {
    Sleeper sleeper = new Sleeper(known, new CountDownLatch(1));
    synchronized (this) {
      sleepers.add(sleeper);
      if (watcher == null) {
        watcher = new Thread(this::watch, "topic ends");
        watcher.setDaemon(true);
        watcher.start();
      }
    }
    try {
      boolean ignored = sleeper.news.await(millis, TimeUnit.MILLISECONDS);
    } finally {
      synchronized (this) {
        sleepers.remove(sleeper);
      }
    }
  }

  private void watch() {
    try {
      lookAround();
    } finally {
      ended();
    }
  }

  /**
   * Wakes all sleepers: each checks its own topics, and starts the next watcher if nothing changed.
   */
  private synchronized void ended() {
    if (watcher == Thread.currentThread()) {
      watcher = null;
      sleepers.forEach(sleeper -> sleeper.news.countDown());
    }
  }

  private void lookAround() {
    Map<String, List<TopicPartition>> partitions = Map.of();
    long described = 0;
    while (true) {
      Set<String> topics = topicsOfSleepers();
      if (topics.isEmpty()) {
        return;
      }
      try {
        long now = System.nanoTime();
        if (!partitions.keySet().equals(topics) || now - described > PARTITIONS_NANOS) {
          partitions = partitions(topics);
          described = now;
        }
        wake(ends(partitions));
        Thread.sleep(LOOK_MILLIS);
      } catch (TimeoutException changed) {
        // A deleted partition is requested again and again: the existing ones have to be listed.
        partitions = Map.of();
      } catch (KafkaException unreachable) {
        // A sleeper has nothing to read until the cluster is back.
        pause();
      } catch (RuntimeException unexpected) {
        LOG.warn("Cannot read the ends of topics; retrying", unexpected);
        pause();
      } catch (InterruptedException stopped) {
        return;
      }
    }
  }

  private synchronized Set<String> topicsOfSleepers() {
    Set<String> topics = new HashSet<>();
    sleepers.forEach(sleeper -> topics.addAll(sleeper.known.keySet()));
    if (topics.isEmpty()) {
      watcher = null;
    }
    return topics;
  }

  private synchronized void wake(Map<String, Map<Integer, Long>> ends) {
    for (Sleeper sleeper : sleepers) {
      // A topic that only a later sleeper waits for was not checked yet.
      boolean same =
          sleeper.known.entrySet().stream()
              .allMatch(e -> e.getValue().equals(ends.getOrDefault(e.getKey(), e.getValue())));
      if (!same) {
        sleeper.news.countDown();
      }
    }
  }

  private Map<String, List<TopicPartition>> partitions(Collection<String> topics)
      throws InterruptedException {
    Map<String, List<TopicPartition>> found = new HashMap<>();
    Map<String, KafkaFuture<TopicDescription>> answers =
        admin.describeTopics(new HashSet<>(topics)).topicNameValues();
    for (Map.Entry<String, KafkaFuture<TopicDescription>> answer : answers.entrySet()) {
      TopicDescription description = orNull(answer.getValue());
      found.put(
          answer.getKey(),
          description == null
              ? List.of()
              : description.partitions().stream()
                  .map(p -> new TopicPartition(description.name(), p.partition()))
                  .toList());
    }
    return found;
  }

  private Map<String, Map<Integer, Long>> ends(Map<String, List<TopicPartition>> partitions)
      throws InterruptedException {
    Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
    Map<String, Map<Integer, Long>> found = new HashMap<>();
    partitions.forEach(
        (topic, places) -> {
          found.put(topic, new HashMap<>());
          places.forEach(place -> asked.put(place, OffsetSpec.latest()));
        });
    ListOffsetsResult answers = admin.listOffsets(asked, PATIENCE);
    for (TopicPartition place : asked.keySet()) {
      ListOffsetsResult.ListOffsetsResultInfo end = orNull(answers.partitionResult(place));
      if (end != null) {
        found.get(place.topic()).put(place.partition(), end.offset());
      }
    }
    return found;
  }

  /** The answer; null for a missing topic; KafkaException for all other failures. */
  private static <T> T orNull(KafkaFuture<T> answer) throws InterruptedException {
    try {
      return answer.get();
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof UnknownTopicOrPartitionException) {
        return null;
      }
      throw failed.getCause() instanceof KafkaException error ? error : new KafkaException(failed);
    }
  }

  private static void pause() {
    try {
      Thread.sleep(TROUBLE_MILLIS);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private record Sleeper(Map<String, Map<Integer, Long>> known, CountDownLatch news) {}
}
