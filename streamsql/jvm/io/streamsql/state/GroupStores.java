package io.streamsql.state;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.StateStoreConf;
import org.apache.spark.sql.execution.streaming.state.StateStoreId;
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.StateStoreProviderId;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;
import scala.collection.immutable.Map$;

/** The stores of a checkpoint's GROUP BY, one per partition, as a commit has left them. */
public final class GroupStores implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final long OPERATOR = 0;
  private final String folder;
  private final long version;
  private final List<String> ids;
  private final GroupLayout layout;
  private final StateStoreConf settings;
  private final SerializableConfiguration hadoop;
  private final UUID run = UUID.randomUUID();

  /**
   * @param metadata of the batch in the offset log, with the settings of its stores
   * @param version one more than the number of the batch
   * @param ids of what the batch has committed, by partitions
   */
  public GroupStores(
      SparkSession spark,
      String checkpoint,
      String metadata,
      long version,
      List<String> ids,
      GroupLayout layout) {
    Configuration configuration = spark.sessionState().newHadoopConf();
    configuration.set(StreamExecution.RUN_ID_KEY(), run.toString());
    this.hadoop = new SerializableConfiguration(configuration);
    SQLConf own = spark.sessionState().conf().clone();
    OffsetSeqMetadata.setSessionConf(OffsetSeqMetadata.apply(metadata), own);
    this.settings = new StateStoreConf(own, Map$.MODULE$.empty());
    this.folder = qualified(new Path(checkpoint, "state"), configuration);
    this.version = version;
    this.ids = List.copyOf(ids);
    this.layout = layout;
  }

  private static String qualified(Path path, Configuration configuration) {
    try {
      return path.getFileSystem(configuration).makeQualified(path).toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Opens a partition's store; the caller closes it. */
  StateStoreProvider open(int partition) {
    StateStoreId store = StateStoreId.apply(folder, OPERATOR, partition, "default");
    return StateStoreProvider.createAndInit(
        StateStoreProviderId.apply(store, run),
        layout.key(),
        layout.value(),
        new NoPrefixKeyStateEncoderSpec(layout.key()),
        false,
        settings,
        hadoop.value(),
        false,
        Option.empty());
  }

  /**
   * @throws RuntimeException if a group does not have this layout
   */
  void check(UnsafeRowPair group, int partition) {
    StateStoreProvider.validateStateRowFormat(
        group.key(),
        layout.key(),
        group.value(),
        layout.value(),
        StateStoreId.apply(folder, OPERATOR, partition, "default"),
        settings);
  }

  int partitions() {
    return ids.size();
  }

  long version() {
    return version;
  }

  Option<String> id(int partition) {
    return Option.apply(ids.get(partition));
  }

  GroupLayout layout() {
    return layout;
  }
}
