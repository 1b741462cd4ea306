package io.streamsql.lookups;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * The sources of rows of this process: each is there once, for all queries and their batches, and
 * goes when nobody has asked it for some time.
 */
final class RowSources {
  private static final long UNUSED_NANOS = TimeUnit.MINUTES.toNanos(10);
  private static final Map<LookupTable, Used> SOURCES = new ConcurrentHashMap<>();

  static {
    ScheduledExecutorService sweeper =
        Executors.newSingleThreadScheduledExecutor(
            work -> {
              Thread thread = new Thread(work, "unused look-ups");
              thread.setDaemon(true);
              return thread;
            });
    var unused = sweeper.scheduleWithFixedDelay(RowSources::sweep, 1, 1, TimeUnit.MINUTES);
  }

  private RowSources() {}

  private static final class Used {
    final RowSource source;
    volatile long at = System.nanoTime();

    Used(RowSource source) {
      this.source = source;
    }
  }

  static RowSource of(LookupTable table) {
    Used used = SOURCES.get(table);
    if (used == null) {
      used = SOURCES.computeIfAbsent(table, made -> new Used(source(made)));
    }
    used.at = System.nanoTime();
    return used.source;
  }

  private static RowSource source(LookupTable table) {
    return table.connection().equals("FILE") ? FileRows.of(table) : JdbcRows.of(table);
  }

  private static void sweep() {
    long now = System.nanoTime();
    for (LookupTable table : List.copyOf(SOURCES.keySet())) {
      Used used = SOURCES.get(table);
      if (used != null && now - used.at > UNUSED_NANOS && SOURCES.remove(table, used)) {
        used.source.close();
      }
    }
  }
}
