package io.streamsql.lookups;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedDeque;

/** A pool of connections to one database, as many as tasks use at a time. */
final class Connections implements AutoCloseable {
  private static final int SECONDS = 5;

  /** Makes a connection. */
  interface Opening {
    Connection open() throws IOException, SQLException;
  }

  /** Uses a connection. */
  interface Use<T> {
    T of(Connection connection) throws SQLException;
  }

  private final Opening opening;
  private final Deque<Connection> idle = new ConcurrentLinkedDeque<>();
  private volatile boolean closed;

  Connections(Opening opening) {
    this.opening = opening;
  }

  static Connections of(LookupTable table) {
    return new Connections(() -> open(table));
  }

  /**
   * Runs the work with a connection. A failure closes the connection and all idle ones, which have
   * probably failed with it.
   *
   * @throws IOException if a secret's reference cannot be resolved
   */
  <T> T with(Use<T> use) throws IOException, SQLException {
    Connection connection = idle.pollLast();
    if (connection == null) {
      connection = opening.open();
    }
    boolean good = false;
    try {
      T result = use.of(connection);
      good = true;
      return result;
    } finally {
      if (good && !closed) {
        idle.addLast(connection);
      } else {
        quietly(connection);
        close(idle);
      }
    }
  }

  private static Connection open(LookupTable table) throws IOException, SQLException {
    Connection connection = table.database().open(SECONDS, Map.of());
    connection.setReadOnly(true);
    return connection;
  }

  // -- closing ------------------------------------------------------------------------------------

  @Override
  public void close() {
    closed = true;
    close(idle);
  }

  private static void close(Deque<Connection> connections) {
    for (Connection c = connections.poll(); c != null; c = connections.poll()) {
      quietly(c);
    }
  }

  private static void quietly(Connection connection) {
    try {
      connection.close();
    } catch (SQLException e) {
      // The connection is discarded, whatever closing it does.
    }
  }
}
