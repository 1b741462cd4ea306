package io.streamsql.serving;

import com.fasterxml.jackson.core.type.TypeReference;
import io.streamsql.epochs.FollowedEpochs;
import io.streamsql.formats.Json;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.unsafe.types.UTF8String;
import org.rocksdb.RocksDBException;

/** A served table: its store and the thread that updates it. */
public final class ServedTable implements AutoCloseable {
  private static final TypeReference<Map<Integer, Long>> POSITIONS = new TypeReference<>() {};

  private final TableStore store;
  private final TableFollower follower;
  private final UTF8String topic;

  /** By reader. */
  private final List<TableRows> rows;

  /** Of a view; null: the table is none. */
  private final FollowedEpochs epochs;

  private ServedTable(
      TableStore store,
      TableFollower follower,
      String topic,
      List<TableRows> rows,
      FollowedEpochs epochs) {
    this.epochs = epochs;
    this.rows = rows;
    this.store = store;
    this.follower = follower;
    this.topic = UTF8String.fromString(topic);
  }

  /**
   * Opens or creates the store of a topic, and follows the topic.
   *
   * @param settings of the connection to Kafka
   * @param retentionMs how long a row is kept relative to the topic's newest one; negative: for
   *     ever
   * @param epochs the topic of epochs, of a view; null: the topic is of no view
   * @param historyMs how long the rows of past epochs are kept
   */
  public static ServedTable open(
      String folder,
      String topic,
      Map<String, String> settings,
      long retentionMs,
      String epochs,
      long historyMs)
      throws IOException, RocksDBException {
    TableStore store = new TableStore(Path.of(folder), retentionMs, historyMs);
    List<TableRows> rows = new CopyOnWriteArrayList<>();
    // Copied: each access to an entry of Python's map calls Python.
    Map<String, String> connection = Map.copyOf(settings);
    FollowedEpochs of = epochs == null ? null : FollowedEpochs.open(epochs, connection);
    TableFollower follower =
        new TableFollower(
            store,
            topic,
            () -> FollowedTopic.open(topic, connection),
            rows,
            of == null ? null : of.marks());
    follower.start();
    return new ServedTable(store, follower, topic, rows, of);
  }

  /** Why the topic cannot be read at present, or null. */
  public String failure() {
    return follower.failure();
  }

  /** The lag of the store in records, -1 while it is unknown. */
  public long lag() {
    return follower.lag();
  }

  /** The approximate number of rows in the store. */
  public long rows() throws RocksDBException {
    return store.estimatedRows();
  }

  /** Waits for that time; whether the store holds all that was in the topic when opened. */
  public boolean awaitComplete(long timeoutMs) throws InterruptedException {
    return follower.awaitComplete(timeoutMs);
  }

  /**
   * Waits for that time; whether the store has reached the positions.
   *
   * @param positions JSON of offsets by partition
   */
  public boolean await(String positions, long timeoutMs) throws IOException, InterruptedException {
    return follower.await(Json.TREES.readValue(positions, POSITIONS), timeoutMs);
  }

  /** The next offset of each partition, as JSON. */
  public String positions() throws IOException {
    return Json.TREES.writeValueAsString(follower.positions());
  }

  /**
   * The key lookups of a query in this table.
   *
   * @param suffix the number of bytes of a stored key that are its window's: 0, 8 or 16
   * @param epoch of a view: that whose rows are read; negative: the current one
   */
  public KeyLookups lookups(CompiledPlan program, int suffix, long epoch) {
    return new KeyLookups(() -> read(epoch), follower::complete, topic, program, suffix);
  }

  private TableStore.Reading read(long epoch) {
    if (epoch < 0) {
      return store.read();
    }
    TableStore.Reading found = store.read(epoch);
    if (found == null) {
      throw new IllegalStateException("the rows of epoch " + epoch + " are no longer kept");
    }
    return found;
  }

  /** Of a view: the epoch that its rows are of; -1: of none, or between two. */
  public long epoch() {
    return store.epoch();
  }

  /** The records of a view as of an epoch that is kept, for a Spark job. */
  public EpochRecords records(SparkSession session, long epoch) {
    return EpochRecords.open(session, store, topic, epoch);
  }

  /** Whether the store holds all that was in the topic when opened. */
  boolean isComplete() {
    return follower.complete();
  }

  boolean isView() {
    return epochs != null;
  }

  /** Whether it is that of a view that has done an epoch. */
  public boolean hasEpochs() {
    return follower.hasEpochs();
  }

  /** Lets a query choose among the epochs of a view. */
  public void addTo(CommonEpoch choice) {
    if (isView()) {
      choice.add(store, follower::begun);
    }
  }

  /**
   * The results of all rows whose keys are in the inclusive range; null: unbounded.
   *
   * @param epoch as for lookups
   */
  public ScannedRows scan(CompiledPlan program, byte[] low, byte[] high, long epoch) {
    TableStore.Reading reading = read(epoch);
    try {
      Iterator<InternalRow> rows = new StoredRows(reading, topic, low, high);
      return new ScannedRows(program, List.of(() -> rows), List.of(reading));
    } catch (RuntimeException | Error e) {
      reading.close();
      throw e;
    }
  }

  /** All rows, as a reader makes them of the records. */
  TableRows rows(CompiledPlan reader) {
    synchronized (rows) {
      for (TableRows known : rows) {
        if (known.isOf(reader)) {
          return known;
        }
      }
      TableRows found = new TableRows(store, topic, reader, RowMemory.SHARED, follower::hasEpochs);
      rows.add(found);
      return found;
    }
  }

  @Override
  public void close() {
    follower.close();
    if (epochs != null) {
      epochs.close();
    }
    rows.forEach(TableRows::drop);
    store.close();
  }
}
