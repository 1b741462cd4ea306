package io.streamsql.sinks;

import io.streamsql.databases.Database;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Creates the table of a sink, or checks the one that is there. */
final class TargetTable {
  private record Column(int type, String typeName) {}

  private final JdbcTarget target;
  private final Dialect dialect;

  TargetTable(JdbcTarget target) {
    this.target = target;
    this.dialect = target.dialect();
  }

  /** Returns why the table cannot hold the sink's rows; null if it can. */
  String prepare(Connection connection) throws SQLException {
    try {
      Map<String, Column> found = columns(connection);
      if (found == null) {
        create(connection);
        found = columns(connection);
      }
      new SinkOffsets(target, "", 0).create(connection);
      String problem = problem(found);
      if (problem == null) {
        describe(connection);
      }
      return problem;
    } catch (SQLException e) {
      if (dialect.lasts(e)) {
        return "the table " + target.table() + ": " + e.getMessage().lines().findFirst().orElse("");
      }
      throw e;
    }
  }

  /** By name; null if there is no such table. */
  private Map<String, Column> columns(Connection connection) throws SQLException {
    String query = "SELECT * FROM " + target.table() + " WHERE 1 = 0";
    try (Statement statement = connection.createStatement();
        ResultSet none = statement.executeQuery(query)) {
      ResultSetMetaData data = none.getMetaData();
      Map<String, Column> columns = new HashMap<>();
      for (int i = 1; i <= data.getColumnCount(); i++) {
        Column column = new Column(data.getColumnType(i), data.getColumnTypeName(i));
        columns.put(Database.identifier(data.getColumnName(i)), column);
      }
      return columns;
    } catch (SQLException e) {
      if (dialect.isMissing(e)) {
        return null;
      }
      throw e;
    }
  }

  private void create(Connection connection) throws SQLException {
    List<String> names = target.quotedColumns();
    List<String> definitions =
        IntStream.range(0, names.size())
            .mapToObj(i -> names.get(i) + " " + type(target.types().get(i)))
            .toList();
    try (Statement statement = connection.createStatement()) {
      statement.execute(dialect.create(target.table(), definitions, target.quotedKeys()));
    }
  }

  private String type(String declared) {
    return dialect.type(ColumnType.of(declared), declared);
  }

  private String problem(Map<String, Column> found) {
    List<String> names = target.quotedColumns();
    for (int i = 0; i < names.size(); i++) {
      Column column = found.get(names.get(i));
      String declared = target.types().get(i);
      if (column == null) {
        return "the table %s has no column %s, which would be %s"
            .formatted(target.table(), names.get(i), type(declared));
      }
      if (!dialect.fits(ColumnType.of(declared), column.type)) {
        return "the column %s of the table %s is %s, which cannot hold %s"
            .formatted(names.get(i), target.table(), column.typeName, declared);
      }
    }
    return null;
  }

  /** The database checks the statement: whether the key is unique, for one. */
  private void describe(Connection connection) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(SinkRows.write(target))) {
      statement.getParameterMetaData().getParameterCount();
    }
  }
}
