package io.streamsql.lookups;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.function.Supplier;

/** A pool of connections to one database, as many as tasks use at a time. */
final class Connections implements AutoCloseable {
  private static final String DRIVER = "org.postgresql.Driver";
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
    Properties properties = new Properties();
    properties.setProperty("ApplicationName", "streamsql");
    properties.setProperty("connectTimeout", Integer.toString(SECONDS));
    properties.setProperty("loginTimeout", Integer.toString(SECONDS));
    properties.setProperty("socketTimeout", Integer.toString(SECONDS));
    properties.setProperty("tcpKeepAlive", "true");
    put(properties, "user", table.user());
    put(properties, "password", table.password());
    String url = References.resolved(table.place(), System.getenv());
    Connection connection = driver(table.jars()).connect(url, properties);
    if (connection == null) {
      throw new SQLException("the driver does not know the URL " + table.place());
    }
    connection.setReadOnly(true);
    return connection;
  }

  private static void put(Properties properties, String name, String text) throws IOException {
    if (!text.isEmpty()) {
      properties.setProperty(name, References.resolved(text, System.getenv()));
    }
  }

  // -- the driver, which only users of a database need on the class path --------------------------

  private static volatile Driver driver;

  private static Driver driver(List<String> jars) throws SQLException {
    Driver found = driver;
    if (found == null) {
      found = loaded(jars);
      driver = found;
    }
    return found;
  }

  private static Driver loaded(List<String> jars) throws SQLException {
    List<Supplier<ClassLoader>> loaders = new ArrayList<>();
    loaders.add(() -> Thread.currentThread().getContextClassLoader());
    loaders.add(Connections.class::getClassLoader);
    loaders.add(() -> new URLClassLoader(urls(jars), Connections.class.getClassLoader()));
    for (Supplier<ClassLoader> loader : loaders) {
      try {
        Class<?> found = Class.forName(DRIVER, true, loader.get());
        return (Driver) found.getDeclaredConstructor().newInstance();
      } catch (ReflectiveOperationException e) {
        // Another driver may accept the URL.
      }
    }
    throw new SQLException("the class path lacks the driver " + DRIVER + "");
  }

  private static URL[] urls(List<String> jars) {
    return jars.stream().map(Connections::url).toArray(URL[]::new);
  }

  private static URL url(String jar) {
    try {
      return new File(jar).toURI().toURL();
    } catch (MalformedURLException e) {
      throw new IllegalArgumentException(e);
    }
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
