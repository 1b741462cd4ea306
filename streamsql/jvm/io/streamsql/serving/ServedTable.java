package io.streamsql.serving;

import com.fasterxml.jackson.core.type.TypeReference;
import io.streamsql.formats.Json;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.sql.catalyst.InternalRow;
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

  private ServedTable(
      TableStore store, TableFollower follower, String topic, List<TableRows> rows) {
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
   */
  public static ServedTable open(
      String folder, String topic, Map<String, String> settings, long retentionMs)
      throws IOException, RocksDBException {
    TableStore store = new TableStore(Path.of(folder), retentionMs);
    List<TableRows> rows = new CopyOnWriteArrayList<>();
    // Copied: each access to an entry of Python's map calls Python.
    Map<String, String> connection = Map.copyOf(settings);
    TableFollower follower =
        new TableFollower(store, topic, () -> FollowedTopic.open(topic, connection), rows);
    follower.start();
    return new ServedTable(store, follower, topic, rows);
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
   */
  public KeyLookups lookups(CompiledPlan program, int suffix) {
    return new KeyLookups(store, follower::complete, topic, program, suffix);
  }

  /** The results of all rows whose keys are in the inclusive range; null: unbounded. */
  public ScannedRows scan(CompiledPlan program, byte[] low, byte[] high) {
    TableStore.Reading reading = store.read();
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
      TableRows found = new TableRows(store, topic, reader, RowMemory.SHARED);
      rows.add(found);
      return found;
    }
  }

  @Override
  public void close() {
    follower.close();
    rows.forEach(TableRows::drop);
    store.close();
  }
}
