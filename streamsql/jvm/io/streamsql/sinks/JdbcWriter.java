package io.streamsql.sinks;

import io.streamsql.databases.Retries;
import io.streamsql.monitoring.CurrentRecord;
import io.streamsql.monitoring.ProcessingLog;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Writes the rows of a task in transactions, each with the offsets that it reaches.
 *
 * <p>Where a transaction fails, the connection is replaced and the stored offsets are read again:
 * its commit may have succeeded, although the answer was lost.
 */
final class JdbcWriter implements AutoCloseable {
  private static final String STEP = "Sink";

  /** Makes a connection. */
  interface Opening {
    Connection open() throws IOException, SQLException;
  }

  private final JdbcTarget target;
  private final SinkRows form;
  private final SinkOffsets offsets;
  private final Opening opening;
  private final Retries retries;
  private final ProcessingLog log;
  private final List<SinkRows.Change> waiting = new ArrayList<>();
  private final Map<Integer, SinkOffsets.Place> stored = new HashMap<>();
  private Connection connection;

  JdbcWriter(
      JdbcTarget target, SinkOffsets offsets, Opening opening, Retries retries, ProcessingLog log) {
    this.target = target;
    this.form = new SinkRows(target);
    this.offsets = offsets;
    this.opening = opening;
    this.retries = retries;
    this.log = log;
  }

  /** Adds a row. Rows of a partition come in the order of their offsets. */
  void add(InternalRow row) {
    SinkRows.Change change = form.change(row);
    // The rows of one record are not separated: its offset stands for all of them.
    if (waiting.size() >= target.rows() && !sameRecord(change, waiting.get(waiting.size() - 1))) {
      flush();
    }
    waiting.add(change);
  }

  private static boolean sameRecord(SinkRows.Change one, SinkRows.Change other) {
    return one.partition() == other.partition() && one.offset() == other.offset();
  }

  /** Returns when all rows are committed. */
  void flush() {
    if (!waiting.isEmpty()) {
      retries.call(target.place(), this::attempt);
      waiting.clear();
    }
  }

  private Void attempt() throws IOException, SQLException {
    boolean done = false;
    try {
      if (connection == null) {
        connection = opening.open();
      }
      write();
      done = true;
      return null;
    } finally {
      if (!done) {
        close();
      }
    }
  }

  private void write() throws SQLException {
    connection.setAutoCommit(true);
    List<SinkRows.Change> missing = new ArrayList<>();
    Map<Integer, Long> ends = new TreeMap<>();
    for (SinkRows.Change change : waiting) {
      int partition = change.partition();
      if (!stored.containsKey(partition)) {
        stored.put(partition, offsets.stored(connection, partition));
      }
      if (!offsets.isWritten(stored.get(partition), change.offset())) {
        missing.add(change);
        ends.merge(partition, change.offset(), Math::max);
      }
    }
    if (missing.isEmpty()) {
      return;
    }
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.execute(target.dialect().transaction());
    }
    Map<Integer, SinkOffsets.Place> reached = advance(ends);
    List<Refusal> refused = new ArrayList<>();
    form.write(connection, form.effective(missing), (c, why) -> refused.add(new Refusal(c, why)));
    report(refused);
    connection.commit();
    stored.putAll(reached);
  }

  private Map<Integer, SinkOffsets.Place> advance(Map<Integer, Long> ends) throws SQLException {
    Map<Integer, SinkOffsets.Place> reached = new HashMap<>();
    for (Map.Entry<Integer, Long> end : ends.entrySet()) {
      int partition = end.getKey();
      SinkOffsets.Place place =
          offsets.advance(connection, partition, stored.get(partition), end.getValue());
      if (place == null) {
        throw new SQLException("another process writes the same batch");
      }
      reached.put(partition, place);
    }
    return reached;
  }

  /** A change that the database refuses, and why. */
  private record Refusal(SinkRows.Change change, String why) {}

  /** The entries are written before the commit, after which the rows are not seen again. */
  private void report(List<Refusal> refused) {
    for (Refusal refusal : refused) {
      SinkRows.Change change = refusal.change;
      CurrentRecord record = CurrentRecord.at(target.topic(), change.partition(), change.offset());
      log.productionError(STEP, "the database refuses the row: " + refusal.why, record);
    }
    if (!refused.isEmpty()) {
      log.flush();
    }
  }

  @Override
  public void close() {
    stored.clear();
    if (connection != null) {
      try {
        connection.close();
      } catch (SQLException e) {
        // The connection is discarded, whatever closing it does.
      }
      connection = null;
    }
  }
}
