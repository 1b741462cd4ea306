package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The thread that wakes queries, whatever it meets. */
class TopicEndsTest {
  private final AtomicInteger asked = new AtomicInteger();

  @Test
  void newsWakeWhoSleeps() throws Exception {
    assertTrue(wakes(null));
  }

  @ParameterizedTest
  @ValueSource(classes = {IllegalStateException.class, NoClassDefFoundError.class})
  void anUnexpectedErrorDoesNotBlockSleepersForEver(Class<? extends Throwable> kind)
      throws Exception {
    Throwable unexpected = kind.getConstructor(String.class).newInstance("unexpected");
    assertTrue(wakes(unexpected));
    assertTrue(wakes(null), "the next one is watched for as well");
  }

  @Test
  void endsThatKafkaDoesNotTellAreNoDeletedTopic() throws Exception {
    assertEquals(Map.of(), readable(new UnknownTopicOrPartitionException()).get());
    CompletableFuture<?> failed = readable(new TimeoutException("busy"));
    assertTrue(failed.isCompletedExceptionally());
  }

  @Test
  void aQueryThatEndsLeavesTheSharedClientToTheOthers() {
    InvocationHandler answers =
        (proxy, method, arguments) -> {
          assertFalse(method.getName().equals("close"), "the other queries need it");
          throw new TimeoutException("no answer");
        };
    Admin shared = new TopicEnds(Map.of(), admin(answers)).shared();
    shared.close();
    shared.close(Duration.ZERO);
    assertThrows(TimeoutException.class, () -> shared.describeTopics(Set.of("t")));
  }

  /** The ends of a partition whose request times out, with this answer about its topic. */
  private static CompletableFuture<Map<TopicPartition, Long>> readable(Throwable described) {
    TopicPartition place = new TopicPartition("t", 0);
    InvocationHandler answers =
        (proxy, method, arguments) ->
            method.getName().equals("describeTopics")
                ? new Described(failed(described))
                : new ListOffsetsResult(Map.of(place, failed(new TimeoutException("no answer"))));
    return new TopicEnds(Map.of(), admin(answers)).readable(Set.of(place));
  }

  private static <T> KafkaFuture<T> failed(Throwable failure) {
    KafkaFutureImpl<T> future = new KafkaFutureImpl<>();
    future.completeExceptionally(failure);
    return future;
  }

  private static Admin admin(InvocationHandler answers) {
    ClassLoader loader = TopicEndsTest.class.getClassLoader();
    return (Admin) Proxy.newProxyInstance(loader, new Class<?>[] {Admin.class}, answers);
  }

  /** Whether a sleeper wakes where the first answer is a failure. */
  private boolean wakes(Throwable first) throws InterruptedException {
    asked.set(0);
    InvocationHandler answers =
        (proxy, method, arguments) -> {
          if (method.getName().equals("describeTopics")) {
            if (first != null && asked.getAndIncrement() == 0) {
              throw first;
            }
            return new Described(KafkaFuture.completedFuture(Described.description()));
          }
          assertFalse(method.isDefault(), method.getName());
          TopicPartition place = new TopicPartition("t", 0);
          var end = new ListOffsetsResult.ListOffsetsResultInfo(6, -1, java.util.Optional.empty());
          return new ListOffsetsResult(Map.of(place, KafkaFuture.completedFuture(end)));
        };
    TopicEnds ends = new TopicEnds(Map.of(), admin(answers));
    Thread sleeper =
        new Thread(
            () -> {
              try {
                ends.awaitOthers(Map.of("t", Map.of(0, 5L)), Long.MAX_VALUE);
              } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
              }
            });
    sleeper.start();
    sleeper.join(TimeUnit.SECONDS.toMillis(15));
    boolean woken = !sleeper.isAlive();
    sleeper.interrupt();
    return woken;
  }

  private static final class Described extends DescribeTopicsResult {
    private Described(KafkaFuture<TopicDescription> description) {
      super(null, Map.of("t", description));
    }

    private static TopicDescription description() {
      Node node = new Node(0, "localhost", 1);
      return new TopicDescription(
          "t", false, List.of(new TopicPartitionInfo(0, node, List.of(node), List.of(node))));
    }
  }
}
