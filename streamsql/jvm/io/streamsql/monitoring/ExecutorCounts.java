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
 * What executors count, added up in the driver's {@link QueryMetrics}: {@code spark.plugins} where
 * tasks run in other JVMs than the driver's.
 *
 * <p>Each tells every second what it has counted since it last did, and once more when it ends.
 * Nothing is told twice: of an executor that is killed, the last second is missing.
 */
public final class ExecutorCounts implements SparkPlugin {
  @Override
  public DriverPlugin driverPlugin() {
    return new Collector();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new Teller();
  }

  private static final class Collector implements DriverPlugin {
    @Override
    @SuppressWarnings("unchecked") // only a Teller sends
    public Object receive(Object message) {
      return QueryMetrics.addAll((Map<String, Map<String, Long>>) message);
    }
  }

  private static final class Teller implements ExecutorPlugin {
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
    @SuppressWarnings("FutureReturnValueIgnored") // it has no end of its own
    public void init(PluginContext given, Map<String, String> extra) {
      context = given;
      clock.scheduleWithFixedDelay(this::tell, MILLIS, MILLIS, TimeUnit.MILLISECONDS);
    }

    @SuppressWarnings("unchecked") // only a Collector answers
    private void tell() {
      try {
        Map<String, Map<String, Long>> news = QueryMetrics.allNews();
        if (!news.isEmpty()) {
          List<String> unknown = (List<String>) context.ask(news);
          unknown.forEach(QueryMetrics::forget);
        }
      } catch (Exception | OutOfMemoryError e) { // else this would be the last time
        // It may have arrived nevertheless, so it is not told again.
        LOG.warn("The driver does not answer: what was counted for a second may be missing", e);
      }
    }

    @Override
    public void shutdown() {
      clock.shutdown();
      try {
        if (clock.awaitTermination(MILLIS, TimeUnit.MILLISECONDS)) {
          context.send(QueryMetrics.allNews()); // nobody is left to take an answer
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (IOException e) {
        LOG.warn("What was counted last is not told", e);
      }
    }
  }
}
