package io.streamsql.kafka;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.utils.Time;

/**
 * Kafka's server in one process, as {@code kafka.Kafka} runs it, except that the broker starts only
 * when its previous incarnation is fenced.
 *
 * <p>After a crash the controller takes the broker for alive, and for the leader of all partitions,
 * until its session expires. A broker that starts earlier loads its transactions, and may be
 * fenced, leaving partitions without a leader, when it is about to write the markers of decided
 * transactions. Kafka 4.3 and 4.4 take such partitions for deleted ones ({@code
 * KRaftMetadataCache.getPartitionLeaderEndpoint} is empty for both, KAFKA-20734) and call the
 * transactions complete: committed records, and all records after them, stay hidden forever. The
 * wait delays no start, since a broker is not registered before the session expires. Delete it with
 * the first Kafka that distinguishes the two; a test fails then.
 */
final class EmbeddedServer {
  /** More than a session after the controller's start: fencing takes a moment, too. */
  private static final int SESSIONS = 2;

  private static final long LOOK_MILLIS = 10;

  private EmbeddedServer() {}

  /**
   * Runs the server until it is shut down.
   *
   * @param restarted whether a broker may have run on this storage before
   */
  static void run(Properties properties, boolean restarted)
      throws ReflectiveOperationException, InterruptedException {
    Class<?> configs = Class.forName("kafka.server.KafkaConfig");
    Object config = configs.getConstructor(Map.class, boolean.class).newInstance(properties, false);
    Object server =
        Class.forName("kafka.server.KafkaRaftServer")
            .getConstructor(configs, Time.class)
            .newInstance(config, Time.SYSTEM);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> shutDown(server), "kafka-shutdown-hook"));
    if (restarted) {
      awaitFencing(server, properties);
    }
    call(server, "startup");
    call(server, "awaitShutdown");
  }

  private static void awaitFencing(Object server, Properties properties)
      throws ReflectiveOperationException, InterruptedException {
    Field field = server.getClass().getDeclaredField("controller");
    field.setAccessible(true);
    Object controller = call(field.get(server), "get");
    call(controller, "startup"); // the server's own start finds it started
    Object metadata = call(controller, "metadataCache");
    int node = Integer.parseInt(properties.getProperty("node.id"));
    long session = Long.parseLong(properties.getProperty("broker.session.timeout.ms"));
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(SESSIONS * session);
    while (!isFenced(metadata, node) && System.nanoTime() < deadline) {
      Thread.sleep(LOOK_MILLIS);
    }
  }

  private static boolean isFenced(Object metadata, int node) throws ReflectiveOperationException {
    return (boolean)
        metadata.getClass().getMethod("isBrokerFenced", int.class).invoke(metadata, node);
  }

  private static void shutDown(Object server) {
    try {
      call(server, "shutdown");
    } catch (ReflectiveOperationException failed) {
      Runtime.getRuntime().halt(1);
    }
  }

  private static Object call(Object target, String method) throws ReflectiveOperationException {
    try {
      return target.getClass().getMethod(method).invoke(target);
    } catch (InvocationTargetException failed) {
      throw new ReflectiveOperationException(failed.getCause());
    }
  }
}
