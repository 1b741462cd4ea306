package io.streamsql.lookups;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The row sources of this process, shared by all queries and batches. Unused ones are closed after
 * some time.
 */
final class RowSources {
  private static final Logger LOG = LoggerFactory.getLogger(RowSources.class);
  private static final long UNUSED_NANOS = TimeUnit.MINUTES.toNanos(10);
  private static final Map<LookupTable, Used> SOURCES = new ConcurrentHashMap<>();

  static {
    ScheduledExecutorService sweeper =
        Executors.newSingleThreadScheduledExecutor(
            work -> {
              Thread thread = new Thread(work, "unused lookups");
              thread.setDaemon(true);
              return thread;
            });
    var unused = sweeper.scheduleWithFixedDelay(RowSources::sweep, 1, 1, TimeUnit.MINUTES);
  }

  private RowSources() {}

  /** A source, which stays open while it is used now and then. */
  static final class Used {
    private final RowSource source;
    private volatile long at = System.nanoTime();
    private volatile boolean gone;

    private Used(RowSource source) {
      this.source = source;
    }

    RowSource source() {
      at = System.nanoTime();
      return source;
    }

    /** Whether a later source has replaced it, or will. */
    boolean isGone() {
      return gone;
    }
  }

  static Used of(LookupTable table) {
    return SOURCES.computeIfAbsent(table, made -> new Used(source(made)));
  }

  private static RowSource source(LookupTable table) {
    return table.connection().equals("FILE") ? FileRows.of(table) : JdbcRows.of(table);
  }

  /** A failure must not end the sweeper, which would stop for good. */
  private static void close(RowSource source) {
    try {
      source.close();
    } catch (RuntimeException failed) {
      LOG.warn("An unused lookup source was not closed", failed);
    }
  }

  private static void sweep() {
    long now = System.nanoTime();
    for (LookupTable table : List.copyOf(SOURCES.keySet())) {
      Used used = SOURCES.get(table);
      if (used != null && now - used.at > UNUSED_NANOS && SOURCES.remove(table, used)) {
        used.gone = true;
        close(used.source);
      }
    }
  }
}
