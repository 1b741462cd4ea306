package io.streamsql.views;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
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
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.state.PrefixKeyScanStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStore$;
import org.apache.spark.sql.execution.streaming.state.StateStoreConf;
import org.apache.spark.sql.execution.streaming.state.StateStoreId;
import org.apache.spark.sql.execution.streaming.state.StateStoreIterator;
import org.apache.spark.sql.execution.streaming.state.StateStoreProviderId;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
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
  private static final StructType KEY =
      ViewOperator.columns("key", DataTypes.BinaryType, "item", DataTypes.BinaryType);
  private static final StructType VALUE = ViewOperator.columns("value", DataTypes.BinaryType);

  /**
   * Under which a store has the number of the batch: no operator has an item of this name there.
   */
  private static final byte[] BATCH = {'b'};

  /** A file of a version. */
  private static final Pattern VERSION = Pattern.compile("(\\d+)\\.(changelog|zip)");

  /** A version has no name but its number. */
  private static final String FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion";

  private final String folder;
  private final UUID run;
  private final StateStoreConf settings;
  private final Broadcast<SerializableConfiguration> hadoop;

  ViewStores(SparkSession spark, String checkpoint, String run) {
    Configuration configuration = spark.sessionState().newHadoopConf();
    configuration.set(StreamExecution.RUN_ID_KEY(), run);
    SQLConf own = spark.sessionState().conf().clone();
    own.setConfString(FORMAT, "1");
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
            new PrefixKeyScanStateEncoderSpec(KEY, 1),
            version,
            Option.empty(),
            Option.empty(),
            false,
            settings,
            hadoop.value().value(),
            false);
    return new Opened(store, batch);
  }

  /** Spark's store. What the task does not commit is undone at its end. */
  static final class Opened implements ViewStore {
    private static final String FAMILY = StateStore$.MODULE$.DEFAULT_COL_FAMILY_NAME();
    private final StateStore store;
    private final long batch;
    private boolean ended;
    private final UnsafeRowWriter keys = new UnsafeRowWriter(2);
    private final UnsafeRowWriter prefixes = new UnsafeRowWriter(1);
    private final UnsafeRowWriter values = new UnsafeRowWriter(1);

    Opened(StateStore store, long batch) {
      this.store = store;
      this.batch = batch;
      TaskContext task = TaskContext.get();
      if (task != null) {
        task.addTaskCompletionListener((TaskCompletionListener) ended -> abort());
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
    public byte[] get(byte[] key, byte[] item) {
      UnsafeRow found = store.get(key(key, item), FAMILY);
      return found == null ? null : found.getBinary(0);
    }

    @Override
    public void put(byte[] key, byte[] item, byte[] value) {
      store.put(key(key, item), row(values, value), FAMILY);
    }

    @Override
    public void remove(byte[] key, byte[] item) {
      store.remove(key(key, item), FAMILY);
    }

    @Override
    public List<Item> items(byte[] key) {
      List<Item> items = new ArrayList<>();
      StateStoreIterator<UnsafeRowPair> found = store.prefixScan(row(prefixes, key), FAMILY);
      try {
        while (found.hasNext()) {
          UnsafeRowPair pair = found.next();
          items.add(new Item(pair.key().getBinary(1), pair.value().getBinary(0)));
        }
      } finally {
        found.close();
      }
      return items;
    }

    @Override
    public byte[] first(byte[] key) {
      // RocksDB has the items of a prefix in the order of their rows: length, and then bytes.
      StateStoreIterator<UnsafeRowPair> found = store.prefixScan(row(prefixes, key), FAMILY);
      try {
        return found.hasNext() ? found.next().key().getBinary(1) : null;
      } finally {
        found.close();
      }
    }

    @Override
    public boolean hasItems(byte[] key) {
      return first(key) != null;
    }

    private UnsafeRow key(byte[] key, byte[] item) {
      keys.reset();
      keys.zeroOutNullBytes();
      keys.write(0, key);
      keys.write(1, item);
      return keys.getRow();
    }

    private static UnsafeRow row(UnsafeRowWriter writer, byte[] value) {
      writer.reset();
      writer.zeroOutNullBytes();
      writer.write(0, value);
      return writer.getRow();
    }
  }
}
