package io.streamsql.sinks;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** A database with the offsets of sinks and the rows of one, which fails where a test says so. */
final class PlayedDatabase {
  /** How a commit fails. */
  enum Commit {
    WELL,
    /** The server does not get it. */
    LOST,
    /** The server carries it out, and its answer is lost. */
    ANSWER_LOST
  }

  private record State(Map<List<Object>, List<Object>> offsets, List<List<Object>> rows) {
    State copy() {
      return new State(new HashMap<>(offsets), new ArrayList<>(rows));
    }
  }

  private State committed = new State(new HashMap<>(), new ArrayList<>());
  final List<Integer> transactions = new ArrayList<>();

  /** Of the next commits; those after them go well. */
  final List<Commit> commits = new ArrayList<>();

  Predicate<List<Object>> refuses = row -> false;

  /** Runs before an offset is moved, once. */
  Runnable meanwhile = () -> {};

  List<List<Object>> rows() {
    return committed.rows;
  }

  Connection open() {
    return new Session().connection();
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    ClassLoader loader = PlayedDatabase.class.getClassLoader();
    return type.cast(Proxy.newProxyInstance(loader, new Class<?>[] {type}, handler));
  }

  private final class Session {
    private State seen = committed;
    private boolean automatic = true;

    Connection connection() {
      return proxy(
          Connection.class,
          (self, method, given) ->
              switch (method.getName()) {
                case "setAutoCommit" -> begin((Boolean) given[0]);
                case "createStatement" -> proxy(Statement.class, (s, m, a) -> false);
                case "prepareStatement" -> statement((String) given[0]);
                case "setSavepoint" -> new Saved(seen.copy());
                case "rollback" -> rollback((Saved) given[0]);
                case "commit" -> commit();
                default -> null;
              });
    }

    private Object begin(boolean automatically) {
      automatic = automatically;
      seen = automatic ? committed : committed.copy();
      return null;
    }

    private Object rollback(Saved saved) {
      seen = saved.state.copy();
      return null;
    }

    private Object commit() throws SQLException {
      Commit how = commits.isEmpty() ? Commit.WELL : commits.remove(0);
      if (how != Commit.LOST) {
        transactions.add(seen.rows.size() - committed.rows.size());
        committed = seen;
        seen = committed.copy();
      }
      if (how != Commit.WELL) {
        throw new SQLException("the connection is lost", "08006");
      }
      return null;
    }

    private PreparedStatement statement(String sql) {
      List<Object> given = new ArrayList<>();
      List<List<Object>> batch = new ArrayList<>();
      return proxy(
          PreparedStatement.class,
          (self, method, arguments) -> {
            switch (method.getName()) {
              case "setString", "setInt", "setLong", "setObject" -> given.add(arguments[1]);
              case "setNull" -> given.add(null);
              case "addBatch" -> {
                batch.add(new ArrayList<>(given));
                given.clear();
              }
              case "executeBatch" -> {
                for (List<Object> row : batch) {
                  write(sql, row);
                }
              }
              case "executeQuery" -> {
                return offset(given);
              }
              case "executeUpdate" -> {
                return moved(sql, given);
              }
              default -> {}
            }
            return null;
          });
    }

    private void write(String sql, List<Object> row) throws SQLException {
      if (refuses.test(row)) {
        throw new SQLException("ERROR: refused\nDetail: secret", "23514");
      }
      // The first column is the key of those that replace.
      if (!sql.startsWith("INSERT") || sql.contains("ON CONFLICT")) {
        seen.rows.removeIf(old -> old.get(0).equals(row.get(0)));
      }
      if (sql.startsWith("INSERT")) {
        seen.rows.add(row);
      }
    }

    private ResultSet offset(List<Object> given) {
      List<Object> found = committed.offsets.get(given);
      return proxy(
          ResultSet.class,
          (self, method, arguments) ->
              switch (method.getName()) {
                case "next" -> found != null;
                case "getLong" -> found.get((Integer) arguments[0] - 1);
                default -> null;
              });
    }

    private int moved(String sql, List<Object> given) {
      if (sql.startsWith("INSERT")) {
        committed.offsets.put(List.copyOf(given.subList(0, 3)), List.copyOf(given.subList(3, 5)));
        return 1;
      }
      Runnable now = meanwhile;
      meanwhile = () -> {};
      now.run();
      List<Object> key = List.copyOf(given.subList(2, 5));
      if (!given.subList(5, 7).equals(committed.offsets.get(key))) {
        return 0;
      }
      seen.offsets.put(key, List.copyOf(given.subList(0, 2)));
      return 1;
    }
  }

  private record Saved(State state) implements Savepoint {
    @Override
    public int getSavepointId() {
      return 0;
    }

    @Override
    public String getSavepointName() {
      return "";
    }
  }
}
