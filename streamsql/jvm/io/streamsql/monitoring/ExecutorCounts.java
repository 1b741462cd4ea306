package io.streamsql.monitoring;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Adds the counters of executors up in the driver's {@link QueryMetrics}: {@code spark.plugins} of
 * a cluster, whose tasks run in other JVMs than the driver's.
 *
 * <p>Each executor reports the increments of the last second, and once more when it ends. Nothing
 * is reported twice: the last second of a killed executor is missing.
 */
public final class ExecutorCounts implements SparkPlugin {
  @Override
  public DriverPlugin driverPlugin() {
    return new Collector();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new Reporter();
  }

  private static final class Collector implements DriverPlugin {
    @Override
    @SuppressWarnings("unchecked") // only a Reporter sends
    public Object receive(Object message) {
      return QueryMetrics.addAll((Map<String, Map<String, Long>>) message);
    }
  }

  private static final class Reporter implements ExecutorPlugin {
    private static final Logger LOG = LoggerFactory.getLogger(ExecutorCounts.class);
    private static final long MILLIS = 1_000;

    private final ScheduledExecutorService clock =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread thread = new Thread(task, "streamsql-counts");
              thread.setDaemon(true);
              return thread;
            });
    private PluginContext context;

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // runs until the shutdown
    public void init(PluginContext given, Map<String, String> extra) {
      context = given;
      clock.scheduleWithFixedDelay(this::report, MILLIS, MILLIS, TimeUnit.MILLISECONDS);
    }

    @SuppressWarnings("unchecked") // only a Collector answers
    private void report() {
      try {
        Map<String, Map<String, Long>> news = QueryMetrics.allNews();
        if (!news.isEmpty()) {
          List<String> unknown = (List<String>) context.ask(news);
          unknown.forEach(QueryMetrics::forget);
        }
      } catch (Exception | OutOfMemoryError e) { // a failure would end the schedule
        // It may have arrived nevertheless, so it is not sent again.
        LOG.warn("The driver does not answer: what was counted for a second may be missing", e);
      }
    }

    @Override
    public void shutdown() {
      clock.shutdown();
      try {
        if (clock.awaitTermination(MILLIS, TimeUnit.MILLISECONDS)) {
          context.send(QueryMetrics.allNews()); // the answer is not needed any more
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (IOException e) {
        LOG.warn("The last counts of this executor are missing", e);
      }
    }
  }
}
