package io.streamsql.serving;

import io.streamsql.kafka.ByteArrays;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.Consumer;

/** An open topic that a served table is read from. */
interface FollowedTopic extends AutoCloseable {
  /** Identifies the topic across recreations and clusters. */
  String identity() throws ExecutionException, InterruptedException, TimeoutException;

  /** The topic's consumer, at first without partitions. */
  Consumer<byte[], byte[]> consumer();

  @Override
  void close();

  /**
   * A Kafka topic.
   *
   * @param settings of the connection, with bootstrap.servers
   */
  static FollowedTopic open(String topic, Map<String, String> settings) {
    Properties connection = new Properties();
    connection.putAll(settings);
    Map<String, Object> reading =
        Map.of(
            "auto.offset.reset", "none",
            "isolation.level", "read_committed",
            "max.poll.records", "5000");
    Admin admin = Admin.create(connection);
    try {
      return new OfKafka(topic, admin, ByteArrays.consumer(settings, reading));
    } catch (RuntimeException e) {
      admin.close(Duration.ZERO);
      throw e;
    }
  }

  /** A topic read by Kafka's clients. */
  record OfKafka(String topic, Admin admin, Consumer<byte[], byte[]> consumer)
      implements FollowedTopic {
    @Override
    public String identity() throws ExecutionException, InterruptedException, TimeoutException {
      String cluster = admin.describeCluster().clusterId().get(10, TimeUnit.SECONDS);
      TopicDescription description =
          admin.describeTopics(List.of(topic)).allTopicNames().get(10, TimeUnit.SECONDS).get(topic);
      return cluster + "/" + topic + "/" + description.topicId();
    }

    @Override
    public void close() {
      try {
        // Otherwise it waits for the fetch that it has begun beyond the last record.
        consumer.close(CloseOptions.timeout(Duration.ZERO));
      } finally {
        admin.close(Duration.ZERO);
      }
    }
  }
}
