package io.streamsql.sinks;

import io.streamsql.databases.Database;
import java.io.IOException;
import java.io.Serializable;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The table of a database that a sink writes.
 *
 * @param name of the sink
 * @param topic whose records are the rows
 * @param table in the database's SQL
 * @param columns their names; a row has their values, whether it is deleted, partition and offset
 * @param types of the columns: SQL types, or JSON
 * @param keys the names of the key's columns; empty: rows are only appended
 * @param rows the largest number in a transaction
 */
public record JdbcTarget(
    String name,
    String topic,
    Database database,
    String table,
    List<String> columns,
    List<String> types,
    List<String> keys,
    int rows)
    implements Serializable {
  private static final int SECONDS = 30;
  private static final Pattern LAST = Pattern.compile("(.*\\.)?(?:\"(?:[^\"]|\"\")+\"|\\w+)");

  public JdbcTarget {
    columns = List.copyOf(columns);
    types = List.copyOf(types);
    keys = List.copyOf(keys);
  }

  boolean upserts() {
    return !keys.isEmpty();
  }

  /** The sink, and where it writes, for messages. */
  String place() {
    return name + " in " + database.url();
  }

  Dialect dialect() {
    return Dialect.of(database.url());
  }

  List<String> quotedColumns() {
    return columns.stream().map(Database::identifier).toList();
  }

  List<String> quotedKeys() {
    return keys.stream().map(Database::identifier).toList();
  }

  /** The table of offsets, in the schema of the sink's table. */
  String offsets() {
    Matcher found = LAST.matcher(table);
    String schema = found.matches() && found.group(1) != null ? found.group(1) : "";
    return schema + "streamsql_offsets";
  }

  Connection open() throws IOException, SQLException {
    Connection connection = database.open(SECONDS, dialect().properties());
    try (Statement statement = connection.createStatement()) {
      statement.execute(dialect().session());
    }
    return connection;
  }
}
