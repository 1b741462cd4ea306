package io.streamsql.lookups;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** Caches rows by key, and keys without a row, for some time; evicts the least recently used. */
final class RowCache {
  /** A cached result; the row is null if there is none. */
  record Known(InternalRow row, long until) {}

  private final long ttl;
  private final LongSupplier clock;
  private final Map<List<Object>, Known> known;

  /**
   * @param ttl nanoseconds
   * @param clock nanoseconds with an arbitrary origin
   */
  RowCache(int most, long ttl, LongSupplier clock) {
    this.ttl = ttl;
    this.clock = clock;
    this.known =
        new LinkedHashMap<>(16, 0.75f, true) {
          private static final long serialVersionUID = 1L;

          @Override
          protected boolean removeEldestEntry(Map.Entry<List<Object>, Known> eldest) {
            return size() > most;
          }
        };
  }

  /** Null if nothing is cached or the entry has expired. */
  synchronized Known get(List<Object> key) {
    Known found = known.get(key);
    if (found != null && clock.getAsLong() - found.until >= 0) {
      known.remove(key);
      return null;
    }
    return found;
  }

  synchronized void put(List<Object> key, InternalRow row) {
    if (ttl > 0) {
      known.put(copied(key), new Known(row, clock.getAsLong() + ttl));
    }
  }

  synchronized int size() {
    return known.size();
  }

  /** Texts of a Spark row point into its memory. */
  static List<Object> copied(List<Object> key) {
    List<Object> copy = new ArrayList<>(key.size());
    for (Object value : key) {
      copy.add(value instanceof UTF8String text ? text.copy() : value);
    }
    return copy;
  }
}
