package io.streamsql.serving;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The memory for the rows of all tables. If one table needs more than is left, the least recently
 * queried tables are evicted.
 */
public final class RowMemory {
  private static final long DEFAULT_SHARE = 4;

  static final RowMemory SHARED = new RowMemory(Runtime.getRuntime().maxMemory() / DEFAULT_SHARE);

  /** By the time of the last query, the oldest first. */
  private final Map<TableRows, Long> used = new LinkedHashMap<>(16, 0.75f, true);

  private long limit;

  RowMemory(long limit) {
    this.limit = limit;
  }

  /** Sets the limit for all tables' rows, in bytes; 0: none are kept in memory. */
  public static void limit(long bytes) {
    SHARED.setLimit(bytes);
  }

  private synchronized void setLimit(long bytes) {
    limit = bytes;
  }

  synchronized long limit() {
    return limit;
  }

  /** Sets the memory that a table's rows take; false: there is no room for them. */
  synchronized boolean take(TableRows table, long bytes) {
    used.put(table, bytes);
    while (used.values().stream().mapToLong(Long::longValue).sum() > limit) {
      TableRows oldest = used.keySet().iterator().next();
      used.remove(oldest);
      if (oldest == table) {
        return false;
      }
      oldest.evict();
    }
    return true;
  }

  /** Records a query of a table. */
  synchronized void touch(TableRows table) {
    used.get(table);
  }

  synchronized void free(TableRows table) {
    used.remove(table);
  }
}
