package io.streamsql.databases;

import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * The address of a database and the login. It contains references to secrets ({@link References})
 * instead of secrets, so it may be shown and sent.
 *
 * @param user empty: none
 * @param password empty: none
 * @param jars files with the driver, if it is not on the class path
 */
public record Database(String url, String user, String password, List<String> jars)
    implements Serializable {
  private static final String POSTGRESQL = "org.postgresql.Driver";
  private static final String SQLITE = "org.sqlite.JDBC";
  private static final int SECONDS_TO_CONNECT = 5;
  private static final Pattern FOLDED = Pattern.compile("[A-Z_][A-Z0-9_]*");

  /**
   * A new connection.
   *
   * @param seconds the longest time without an answer
   * @param more properties of the driver
   * @throws IOException if a secret's reference cannot be resolved
   */
  public Connection open(int seconds, Map<String, String> more) throws IOException, SQLException {
    Properties properties = new Properties();
    properties.setProperty("ApplicationName", "streamsql");
    properties.setProperty("connectTimeout", Integer.toString(SECONDS_TO_CONNECT));
    properties.setProperty("loginTimeout", Integer.toString(SECONDS_TO_CONNECT));
    properties.setProperty("socketTimeout", Integer.toString(seconds));
    properties.setProperty("tcpKeepAlive", "true");
    more.forEach(properties::setProperty);
    put(properties, "user", user);
    put(properties, "password", password);
    String resolved = References.resolved(url, System.getenv());
    Connection connection = driver().connect(resolved, properties);
    if (connection == null) {
      throw new SQLException("the driver does not know the URL " + url);
    }
    return connection;
  }

  /** Names are in upper case here and in lower case there, unless they were quoted. */
  public static String identifier(String name) {
    String there = FOLDED.matcher(name).matches() ? name.toLowerCase(Locale.ROOT) : name;
    return '"' + there.replace("\"", "\"\"") + '"';
  }

  private static void put(Properties properties, String name, String text) throws IOException {
    if (!text.isEmpty()) {
      properties.setProperty(name, References.resolved(text, System.getenv()));
    }
  }

  // -- the driver, which only users of a database need on the class path --------------------------

  private static final Map<String, Driver> DRIVERS = new ConcurrentHashMap<>();

  private Driver driver() throws SQLException {
    String name = url.startsWith("jdbc:sqlite:") ? SQLITE : POSTGRESQL;
    Driver found = DRIVERS.get(name);
    if (found == null) {
      found = loaded(name, jars);
      DRIVERS.put(name, found);
    }
    return found;
  }

  private static Driver loaded(String name, List<String> jars) throws SQLException {
    List<Supplier<ClassLoader>> loaders = new ArrayList<>();
    loaders.add(() -> Thread.currentThread().getContextClassLoader());
    loaders.add(Database.class::getClassLoader);
    loaders.add(() -> new URLClassLoader(urls(jars), Database.class.getClassLoader()));
    for (Supplier<ClassLoader> loader : loaders) {
      try {
        Class<?> found = Class.forName(name, true, loader.get());
        return (Driver) found.getDeclaredConstructor().newInstance();
      } catch (ReflectiveOperationException e) {
        // Another loader may find it.
      }
    }
    throw new SQLException("the class path lacks the driver " + name);
  }

  private static URL[] urls(List<String> jars) {
    return jars.stream().map(Database::url).toArray(URL[]::new);
  }

  private static URL url(String jar) {
    try {
      return new File(jar).toURI().toURL();
    } catch (MalformedURLException e) {
      throw new IllegalArgumentException(e);
    }
  }
}
