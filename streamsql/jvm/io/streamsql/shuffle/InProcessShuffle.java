package io.streamsql.shuffle;

import io.streamsql.runs.QueryRun;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.streaming.StreamingShuffleManager;

/**
 * Passes rows between the tasks of a real-time query through queues in memory.
 *
 * <p>Spark's own manager uses a socket for each pair of tasks: each batch begins with servers and
 * connections, and each row wakes five threads. If all tasks run in this JVM
 * (`spark.shuffle.manager.incremental` of a local master) none of that is needed. It extends one of
 * Spark's managers, since Spark counts the tasks of such a shuffle only for that type.
 */
public final class InProcessShuffle extends StreamingShuffleManager {
  /** The manager of this JVM's Spark. */
  private static volatile InProcessShuffle current;

  private final Map<Integer, Exchange> exchanges = new ConcurrentHashMap<>();

  /** Called by Spark, by reflection. */
  public InProcessShuffle() {
    current = this;
  }

  /** How long tasks of a query's run have had rows from other tasks, without a break. */
  public static Duration workingFor(UUID runId) {
    InProcessShuffle shuffle = current;
    return shuffle == null ? Duration.ZERO : shuffle.longest(runId.toString());
  }

  private Duration longest(String runId) {
    return Duration.ofNanos(
        exchanges.values().stream().mapToLong(e -> e.workingFor(runId)).max().orElse(0));
  }

  @Override
  public <K, V, C> ShuffleHandle registerShuffle(int id, ShuffleDependency<K, V, C> dependency) {
    int writers = dependency.rdd().getNumPartitions();
    exchanges.put(id, new Exchange(writers, dependency.partitioner().numPartitions()));
    return new BaseShuffleHandle<>(id, dependency);
  }

  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle, long map, TaskContext task, ShuffleWriteMetricsReporter metrics) {
    BaseShuffleHandle<?, ?, ?> known = (BaseShuffleHandle<?, ?, ?>) handle;
    return new ExchangeWriter<>(exchange(handle), known.dependency().partitioner(), map, task);
  }

  @Override
  public <K, C> ShuffleReader<K, C> getReader(
      ShuffleHandle handle,
      int firstMap,
      int lastMap,
      int partition,
      int endPartition,
      TaskContext task,
      ShuffleReadMetricsReporter metrics) {
    if (endPartition != partition + 1) {
      throw new UnsupportedOperationException("a task that reads several partitions of a shuffle");
    }
    Exchange exchange = exchange(handle);
    exchange.readBy(String.valueOf(task.getLocalProperty(QueryRun.ID)));
    RowQueue queue = exchange.queue(partition);
    queue.open();
    return () -> new QueuedRows<K, C>(queue, task);
  }

  private Exchange exchange(ShuffleHandle handle) {
    Exchange found = exchanges.get(handle.shuffleId());
    if (found == null) {
      throw new IllegalStateException("shuffle " + handle.shuffleId() + " no longer exists");
    }
    return found;
  }

  @Override
  public boolean unregisterShuffle(int id) {
    exchanges.remove(id);
    return true;
  }

  @Override
  public void stop() {
    exchanges.clear();
  }
}
