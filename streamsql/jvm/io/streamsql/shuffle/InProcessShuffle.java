package io.streamsql.shuffle;

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
 * What hands rows from the tasks of a real-time query to the next ones, through queues in memory.
 *
 * <p>Spark's own sends them through a socket for each pair of tasks: each batch begins with servers
 * and connections, and each row wakes five threads on its way. Where all tasks run in this JVM
 * (`spark.shuffle.manager.incremental` of a local master) none of that is needed. It is one of
 * Spark's own by type, for which alone Spark counts the tasks of such a shuffle.
 */
public final class InProcessShuffle extends StreamingShuffleManager {
  /** What Spark calls the run of a query, in the properties of its tasks. */
  private static final String RUN_ID = "spark.jobGroup.id";

  /** That of this JVM's Spark. */
  private static volatile InProcessShuffle current;

  private final Map<Integer, Exchange> exchanges = new ConcurrentHashMap<>();

  /** Called by Spark, by reflection. */
  public InProcessShuffle() {
    current = this;
  }

  /** For how long tasks of a query's run have had rows of others to work on, without a break. */
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
    exchange.readBy(String.valueOf(task.getLocalProperty(RUN_ID)));
    Lane lane = exchange.lane(partition);
    lane.open();
    return () -> new LaneRows<K, C>(lane, task);
  }

  private Exchange exchange(ShuffleHandle handle) {
    Exchange found = exchanges.get(handle.shuffleId());
    if (found == null) {
      throw new IllegalStateException("shuffle " + handle.shuffleId() + " is no more");
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
