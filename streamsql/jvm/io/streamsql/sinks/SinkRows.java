package io.streamsql.sinks;

import java.nio.ByteBuffer;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.apache.spark.sql.catalyst.InternalRow;

/** Rows in the form of JDBC, and the statements that write them. */
final class SinkRows {
  /** The change that a record makes: a row, or the deletion of the row of its key. */
  record Change(int partition, long offset, boolean deletes, List<Object> values) {}

  private final Dialect dialect;
  private final boolean upserts;
  private final ColumnType[] types;
  private final int[][] digits;
  private final int[] keys;
  private final String write;
  private final String delete;

  SinkRows(JdbcTarget target) {
    this.dialect = target.dialect();
    this.upserts = target.upserts();
    this.types = target.types().stream().map(ColumnType::of).toArray(ColumnType[]::new);
    this.digits = target.types().stream().map(SinkRows::digits).toArray(int[][]::new);
    this.keys = target.keys().stream().mapToInt(target.columns()::indexOf).toArray();
    this.write = write(target);
    this.delete = dialect.delete(target.table(), target.quotedKeys());
  }

  static String write(JdbcTarget target) {
    List<String> columns = target.quotedColumns();
    return target.upserts()
        ? target.dialect().upsert(target.table(), columns, target.quotedKeys())
        : target.dialect().insert(target.table(), columns);
  }

  /** Precision and scale of a DECIMAL. */
  static int[] digits(String declared) {
    int open = declared.indexOf('(');
    if (open < 0) {
      return new int[] {0, 0};
    }
    String[] parts = declared.substring(open + 1, declared.length() - 1).split(",", -1);
    return new int[] {Integer.parseInt(parts[0].trim()), Integer.parseInt(parts[1].trim())};
  }

  Change change(InternalRow row) {
    Object[] values = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      values[i] = types[i].value(row, i, digits[i][0], digits[i][1]);
    }
    int at = types.length;
    boolean deletes = upserts && row.getBoolean(at);
    return new Change(row.getInt(at + 1), row.getLong(at + 2), deletes, Arrays.asList(values));
  }

  /** Of the changes of a key, the last; all that are only appended. */
  List<Change> effective(Collection<Change> changes) {
    if (!upserts) {
      return List.copyOf(changes);
    }
    Map<List<Object>, Change> last = new LinkedHashMap<>();
    for (Change change : changes) {
      List<Object> key = new ArrayList<>(keys.length);
      for (int at : keys) {
        Object value = change.values.get(at);
        key.add(value instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : value);
      }
      last.put(key, change);
    }
    return List.copyOf(last.values());
  }

  /** Writes the changes in the connection's transaction; the database may refuse some. */
  void write(Connection connection, List<Change> changes, BiConsumer<Change, String> refused)
      throws SQLException {
    Savepoint before = connection.setSavepoint();
    try {
      send(connection, changes);
    } catch (SQLException e) {
      if (!dialect.refusesRow(e)) {
        throw e;
      }
      connection.rollback(before);
      if (changes.size() == 1) {
        // The first line alone: others may have the row's values.
        refused.accept(changes.get(0), e.getMessage().lines().findFirst().orElse(""));
        return;
      }
      int half = changes.size() / 2;
      write(connection, changes.subList(0, half), refused);
      write(connection, changes.subList(half, changes.size()), refused);
      return;
    }
    connection.releaseSavepoint(before);
  }

  private void send(Connection connection, List<Change> changes) throws SQLException {
    if (upserts) {
      batch(connection, delete, changes, Change::deletes, keys);
    }
    int[] all = new int[types.length];
    for (int i = 0; i < all.length; i++) {
      all[i] = i;
    }
    batch(connection, write, changes, change -> !change.deletes, all);
  }

  private void batch(
      Connection connection,
      String sql,
      List<Change> changes,
      Predicate<Change> some,
      int[] columns)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      int count = 0;
      for (Change change : changes) {
        if (some.test(change)) {
          set(statement, columns, change);
          statement.addBatch();
          count++;
        }
      }
      if (count > 0) {
        statement.executeBatch();
      }
    } catch (BatchUpdateException e) {
      // Its own message contains the statement with its values.
      throw e.getNextException() == null
          ? new SQLException("", e.getSQLState())
          : e.getNextException();
    }
  }

  private void set(PreparedStatement statement, int[] columns, Change change) throws SQLException {
    for (int i = 0; i < columns.length; i++) {
      int at = columns[i];
      Object value = change.values.get(at);
      if (value == null) {
        statement.setNull(i + 1, types[at].sent());
      } else {
        statement.setObject(i + 1, dialect.sent(value), types[at].sent());
      }
    }
  }
}
