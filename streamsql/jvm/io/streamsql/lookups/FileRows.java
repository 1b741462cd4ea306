package io.streamsql.lookups;

import io.streamsql.databases.Retries;
import io.streamsql.errors.ErrorCode;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkEnv;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;

/**
 * All rows of a file, or of a folder's files, in memory. The first access after the time to live
 * checks whether the files have changed, and reads them again if so.
 */
final class FileRows implements RowSource {
  /** The rows, their files, and the time of the next check. */
  private record Loaded(
      Map<List<Object>, InternalRow> rows, List<RowFiles.Stamp> stamps, long until) {}

  private final RowFiles files;
  private final DataType[] keyTypes;
  private final long ttl;
  private final String name;
  private final Retries retries;
  private final LongSupplier clock;
  private volatile Loaded loaded;

  /**
   * @param clock nanoseconds with an arbitrary origin
   */
  FileRows(LookupTable table, Configuration conf, Retries retries, LongSupplier clock) {
    this.files = new RowFiles(table, conf);
    this.keyTypes = table.keyTypes();
    this.ttl = TimeUnit.MILLISECONDS.toNanos(table.ttlMillis());
    this.name = table.name() + " in " + table.place();
    this.retries = retries;
    this.clock = clock;
  }

  static FileRows of(LookupTable table) {
    SparkEnv env = SparkEnv.get();
    Configuration conf =
        env == null ? new Configuration() : SparkHadoopUtil.get().newConfiguration(env.conf());
    return new FileRows(table, conf, Retries.usual(ErrorCode.LOOKUP_UNAVAILABLE), System::nanoTime);
  }

  @Override
  public InternalRow find(List<Object> key) {
    Loaded now = loaded;
    if (now == null || clock.getAsLong() - now.until >= 0) {
      now = refreshed();
    }
    return now.rows.get(key);
  }

  private synchronized Loaded refreshed() {
    Loaded before = loaded;
    if (before == null || clock.getAsLong() - before.until >= 0) {
      loaded = retries.call(name, () -> read(before));
    }
    return loaded;
  }

  private Loaded read(Loaded before) throws IOException {
    List<RowFiles.Stamp> stamps = files.stamps();
    if (before != null && before.stamps.equals(stamps)) {
      return new Loaded(before.rows, stamps, clock.getAsLong() + ttl);
    }
    Map<List<Object>, InternalRow> rows = new HashMap<>();
    files.read(
        stamps,
        row -> {
          List<Object> key = LookupTable.key(row, keyTypes);
          if (key != null) {
            rows.put(key, row);
          }
        });
    if (!files.stamps().equals(stamps)) {
      throw new IOException("the files change while they are read");
    }
    return new Loaded(rows, stamps, clock.getAsLong() + ttl);
  }

  @Override
  public void close() {
    loaded = null;
  }
}
