package io.streamsql.views;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.state.ByteArrayPair;
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.RocksDB;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStore$;
import org.apache.spark.sql.execution.streaming.state.StateStoreConf;
import org.apache.spark.sql.execution.streaming.state.StateStoreId;
import org.apache.spark.sql.execution.streaming.state.StateStoreProviderId;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.NextIterator;
import org.apache.spark.util.SerializableConfiguration;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.reflect.ClassTag$;

/**
 * The stores of a view in one run: one for each operator and partition, in its checkpoint.
 *
 * <p>A batch without rows for a store does not open it. So the versions of a store are counted by
 * themselves, and each says which batch has written it.
 */
final class ViewStores implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final StructType KEY = ViewOperator.columns("key", DataTypes.BinaryType);
  private static final StructType VALUE = ViewOperator.columns("value", DataTypes.BinaryType);

  /**
   * Under which a store has the number of the batch: no operator has an item of this name there.
   */
  private static final byte[] BATCH = {'b'};

  /** A file of a version. */
  private static final Pattern VERSION = Pattern.compile("(\\d+)\\.(changelog|zip)");

  /** A version has no name but its number. */
  private static final String FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion";

  /** To know how many rows it has, a store would look up each row that it takes. */
  private static final String COUNTS =
      "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows";

  private final String checkpoint;
  private String folder;
  private UUID run;
  private StateStoreConf settings;
  private Broadcast<SerializableConfiguration> hadoop;

  ViewStores(String checkpoint) {
    this.checkpoint = checkpoint;
  }

  /** Before the first batch of a run. */
  void begin(SparkSession spark, String run) {
    Configuration configuration = spark.sessionState().newHadoopConf();
    configuration.set(StreamExecution.RUN_ID_KEY(), run);
    SQLConf own = spark.sessionState().conf().clone();
    own.setConfString(FORMAT, "1");
    own.setConfString(COUNTS, "false");
    this.settings = new StateStoreConf(own, Map$.MODULE$.empty());
    this.folder = qualified(new Path(checkpoint, "state"), configuration);
    this.run = UUID.fromString(run);
    this.hadoop =
        spark
            .sparkContext()
            .broadcast(
                new SerializableConfiguration(configuration),
                ClassTag$.MODULE$.apply(SerializableConfiguration.class));
  }

  private static String qualified(Path path, Configuration configuration) {
    try {
      return path.getFileSystem(configuration).makeQualified(path).toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * The store as the batch of that number finds it, for the task of this thread alone: what the
   * last attempt at this batch has written does not count.
   */
  Opened open(int operator, int partition, long batch) {
    StateStoreId id = StateStoreId.apply(folder, operator, partition, "default");
    long version = newest(id);
    Opened newest = open(id, version, batch);
    if (newest.writtenBy() < batch) {
      return newest;
    }
    newest.abort();
    return open(id, version - 1, batch);
  }

  private long newest(StateStoreId id) {
    Path place = id.storeCheckpointLocation();
    long newest = 0;
    try {
      FileSystem files = place.getFileSystem(hadoop.value().value());
      if (files.exists(place)) {
        for (FileStatus file : files.listStatus(place)) {
          Matcher name = VERSION.matcher(file.getPath().getName());
          newest = name.matches() ? Math.max(newest, Long.parseLong(name.group(1))) : newest;
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return newest;
  }

  private Opened open(StateStoreId id, long version, long batch) {
    StateStore store =
        StateStore$.MODULE$.get(
            StateStoreProviderId.apply(id, run),
            KEY,
            VALUE,
            new NoPrefixKeyStateEncoderSpec(KEY),
            version,
            Option.empty(),
            Option.empty(),
            false,
            settings,
            hadoop.value().value(),
            false);
    return new Opened(store, batch, version == 0);
  }

  /** The provider of a store. Java does not see it otherwise. */
  private static final Field PROVIDER = provider();

  private static Field provider() {
    try {
      return RocksDBStateStoreProvider.RocksDBStateStore.class.getField("$outer");
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Spark's store. What the task does not commit is undone at its end. */
  static final class Opened implements ViewStore {
    private static final String FAMILY = StateStore$.MODULE$.DEFAULT_COL_FAMILY_NAME();
    private final StateStore store;
    private final long batch;
    private final boolean isNew;
    private boolean ended;
    private final RocksDB rows;
    private final StoredBytes bytes = new StoredBytes();

    Opened(StateStore store, long batch, boolean isNew) {
      this.store = store;
      this.rows = rows(store);
      this.batch = batch;
      this.isNew = isNew;
      TaskContext task = TaskContext.get();
      if (task != null) {
        task.addTaskCompletionListener((TaskCompletionListener) ended -> abort());
      }
    }

    /** What it writes to: the store itself takes only rows, and stores them as they are. */
    private static RocksDB rows(StateStore store) {
      try {
        return ((RocksDBStateStoreProvider) PROVIDER.get(store)).rocksDB();
      } catch (IllegalAccessException e) {
        throw new IllegalStateException(e);
      }
    }

    void commit() {
      put(ViewOperator.ONLY, BATCH, Weights.bytes(batch));
      store.commit();
    }

    /** The number of the batch that has written this version; -1: none has. */
    private long writtenBy() {
      byte[] found = get(ViewOperator.ONLY, BATCH);
      return found == null ? -1 : Weights.number(found);
    }

    private void abort() {
      if (!ended && !store.hasCommitted()) {
        ended = true;
        store.abort();
      }
    }

    @Override
    public boolean isNew() {
      return isNew;
    }

    @Override
    public byte[] get(byte[] key, byte[] item) {
      byte[] found = rows.get(bytes.key(key, item), FAMILY);
      return found == null ? null : StoredBytes.unpacked(found);
    }

    @Override
    public void put(byte[] key, byte[] item, byte[] value) {
      rows.put(bytes.key(key, item), bytes.value(value), FAMILY, false, false, false);
    }

    @Override
    public void remove(byte[] key, byte[] item) {
      rows.remove(bytes.key(key, item), FAMILY, false, false, false);
    }

    @Override
    public List<Item> items(byte[] key) {
      List<Item> items = new ArrayList<>();
      byte[] prefix = bytes.key(key);
      NextIterator<ByteArrayPair> found = rows.prefixScan(prefix, FAMILY);
      try {
        while (found.hasNext()) {
          ByteArrayPair pair = found.next();
          byte[] item = StoredBytes.item(pair.key(), prefix.length);
          items.add(new Item(item, StoredBytes.unpacked(pair.value())));
        }
      } finally {
        found.closeIfNeeded();
      }
      return items;
    }

    @Override
    public byte[] first(byte[] key) {
      byte[] prefix = bytes.key(key);
      NextIterator<ByteArrayPair> found = rows.prefixScan(prefix, FAMILY);
      try {
        return found.hasNext() ? StoredBytes.item(found.next().key(), prefix.length) : null;
      } finally {
        found.closeIfNeeded();
      }
    }

    @Override
    public boolean hasItems(byte[] key) {
      return first(key) != null;
    }
  }
}
