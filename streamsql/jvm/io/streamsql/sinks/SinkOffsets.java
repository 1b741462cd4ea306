package io.streamsql.sinks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * How far a sink has written, in a table of its database: in the transaction of the rows, so that
 * both are there or none.
 *
 * <p>A batch that Spark repeats has the same records. Those up to the stored offset are written
 * already if the stored batch is that one; an earlier stored batch is complete, and says nothing of
 * this one's records, whose offsets may begin again in a topic that was created again.
 */
final class SinkOffsets {
  /** The last offset that is written, and its batch. */
  record Place(long batch, long offset) {}

  private static final Place NOWHERE = new Place(-1, -1);

  private final Dialect dialect;
  private final String table;
  private final String topic;
  private final String sink;
  private final long batch;

  /**
   * @param sink identifies the checkpoint: a new sink of the same name begins at the start
   */
  SinkOffsets(JdbcTarget target, String sink, long batch) {
    this.dialect = target.dialect();
    this.table = target.offsets();
    this.topic = target.topic();
    this.sink = sink;
    this.batch = batch;
  }

  void create(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(
          "CREATE TABLE IF NOT EXISTS "
              + table
              + " (sink VARCHAR(300), topic VARCHAR(249), partition INTEGER, batch BIGINT NOT NULL,"
              + " last_offset BIGINT NOT NULL, PRIMARY KEY (sink, topic, partition))");
    }
  }

  /** What is stored for the partition; on the first call, outside of a transaction, it is added. */
  Place stored(Connection connection, int partition) throws SQLException {
    Place found = find(connection, partition);
    if (found != null) {
      return found;
    }
    String sql = "INSERT INTO " + table + " VALUES (?, ?, ?, ?, ?)";
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      name(statement, 1, partition);
      statement.setLong(4, NOWHERE.batch);
      statement.setLong(5, NOWHERE.offset);
      statement.executeUpdate();
    } catch (SQLException e) {
      if (!dialect.isDuplicate(e)) {
        throw e;
      }
      return find(connection, partition);
    }
    return NOWHERE;
  }

  /** Whether the record is written already. */
  boolean isWritten(Place stored, long offset) {
    return stored.batch >= batch && offset <= stored.offset;
  }

  /**
   * Moves the stored place, and keeps others from doing so until the transaction ends.
   *
   * @return the new place; null if another writer has moved it since {@code stored} was read
   */
  Place advance(Connection connection, int partition, Place stored, long offset)
      throws SQLException {
    String sql =
        "UPDATE "
            + table
            + " SET batch = ?, last_offset = ? WHERE sink = ? AND topic = ? AND partition = ?"
            + " AND batch = ? AND last_offset = ?";
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.setLong(1, batch);
      statement.setLong(2, offset);
      name(statement, 3, partition);
      statement.setLong(6, stored.batch);
      statement.setLong(7, stored.offset);
      return statement.executeUpdate() == 1 ? new Place(batch, offset) : null;
    }
  }

  private Place find(Connection connection, int partition) throws SQLException {
    String sql =
        "SELECT batch, last_offset FROM "
            + table
            + " WHERE sink = ? AND topic = ? AND partition = ?";
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      name(statement, 1, partition);
      try (ResultSet found = statement.executeQuery()) {
        return found.next() ? new Place(found.getLong(1), found.getLong(2)) : null;
      }
    }
  }

  private void name(PreparedStatement statement, int at, int partition) throws SQLException {
    statement.setString(at, sink);
    statement.setString(at + 1, topic);
    statement.setInt(at + 2, partition);
  }
}
