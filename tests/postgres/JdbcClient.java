import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * What a program in Java does with a server: prints a heading for each thing, and a line a row.
 *
 * <p>Arguments: the URL, and `metadata` or `queries`.
 */
public final class JdbcClient {
  private JdbcClient() {}


  public static void main(String[] arguments) throws SQLException {
    try (Connection connection = DriverManager.getConnection(arguments[0])) {
      if (arguments[1].equals("metadata")) {
        metadata(connection.getMetaData());
      } else {
        types(connection);
        prepared(connection);
        fetched(connection);
        batch(connection);
        mistake(connection);
      }
    }
  }

  /** All that DatabaseMetaData asks of a catalog; a table's name is in lower case. */
  static void metadata(DatabaseMetaData data) throws SQLException {
    String[] kinds = {"TABLE", "VIEW"};
    print("schemas", data.getSchemas(), "TABLE_SCHEM");
    print("catalogs", data.getCatalogs(), "TABLE_CAT");
    print("table types", data.getTableTypes(), "TABLE_TYPE");
    print(
        "tables",
        data.getTables(null, "public", "%", kinds),
        "TABLE_NAME",
        "TABLE_TYPE",
        "REMARKS");
    print("all tables", data.getTables(null, null, "acc%", null), "TABLE_NAME", "TABLE_TYPE");
    String[] columns = {
      "TABLE_NAME",
      "COLUMN_NAME",
      "DATA_TYPE",
      "TYPE_NAME",
      "COLUMN_SIZE",
      "DECIMAL_DIGITS",
      "NULLABLE",
      "ORDINAL_POSITION",
      "IS_AUTOINCREMENT"
    };
    print("columns", data.getColumns(null, "public", "%", "%"), columns);
    print(
        "primary keys",
        data.getPrimaryKeys(null, "public", "positions"),
        "COLUMN_NAME",
        "KEY_SEQ",
        "PK_NAME");
    print("imported keys", data.getImportedKeys(null, "public", "accounts"), "FK_NAME");
    print("exported keys", data.getExportedKeys(null, "public", "accounts"), "FK_NAME");
    print(
        "cross reference",
        data.getCrossReference(null, null, "accounts", null, null, "positions"),
        "FK_NAME");
    print(
        "indexes",
        data.getIndexInfo(null, "public", "positions", false, true),
        "INDEX_NAME",
        "NON_UNIQUE",
        "TYPE",
        "ORDINAL_POSITION",
        "COLUMN_NAME");
    print(
        "best rows",
        data.getBestRowIdentifier(null, "public", "accounts", DatabaseMetaData.bestRowSession, true),
        "COLUMN_NAME",
        "TYPE_NAME");
    print("versions", data.getVersionColumns(null, "public", "accounts"), "COLUMN_NAME");
    print("procedures", data.getProcedures(null, "public", "%"), "PROCEDURE_NAME");
    print("functions", data.getFunctions(null, "public", "%"), "FUNCTION_NAME");
    print("user types", data.getUDTs(null, "public", "%", null), "TYPE_NAME");
    print("types", data.getTypeInfo(), "TYPE_NAME", "DATA_TYPE", "PRECISION", "AUTO_INCREMENT");
    print("properties", data.getClientInfoProperties(), "NAME");
    print(
        "privileges",
        data.getTablePrivileges(null, "public", "accounts"),
        "TABLE_NAME",
        "PRIVILEGE");
  }

  static void types(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT * FROM readings")) {
      ResultSetMetaData data = rows.getMetaData();
      List<String> names = new ArrayList<>();
      for (int at = 1; at <= data.getColumnCount(); at++) {
        names.add(data.getColumnName(at) + ":" + data.getColumnTypeName(at));
      }
      System.out.println("## types");
      System.out.println(String.join(" ", names));
      rows.next();
      String[] tags = (String[]) rows.getArray("tags").getArray();
      System.out.println(
          rows.getInt("n")
              + " "
              + rows.getLong("big")
              + " "
              + rows.getBigDecimal("price")
              + " "
              + rows.getTimestamp("seen").toInstant()
              + " "
              + rows.getDate("day").toLocalDate()
              + " "
              + rows.getBytes("raw").length
              + " "
              + tags.length
              + " "
              + rows.getString("counts"));
    }
  }

  /** From the fifth time on the driver has a statement of the server's, and binary values. */
  static void prepared(Connection connection) throws SQLException {
    String text = "SELECT n, seen, price, tags FROM readings WHERE n = ? AND seen > ? AND price < ?";
    System.out.println("## prepared");
    try (PreparedStatement statement = connection.prepareStatement(text + " AND tags = ?")) {
      for (int turn = 0; turn < 8; turn++) {
        statement.setInt(1, turn);
        statement.setTimestamp(2, Timestamp.from(Instant.ofEpochMilli(1500 * turn)));
        statement.setBigDecimal(3, new BigDecimal("3.50"));
        statement.setArray(4, connection.createArrayOf("text", new Object[] {"a", null}));
        try (ResultSet rows = statement.executeQuery()) {
          rows.next();
          System.out.println(
              rows.getInt(1) + " " + rows.getTimestamp(2).toInstant() + " " + rows.getBigDecimal(3));
        }
      }
    }
  }

  static void fetched(Connection connection) throws SQLException {
    connection.setAutoCommit(false);
    System.out.println("## fetched");
    try (Statement statement = connection.createStatement()) {
      statement.setFetchSize(3);
      try (ResultSet rows = statement.executeQuery("SELECT n FROM readings EMIT CHANGES")) {
        for (int count = 0; count < 7 && rows.next(); count++) {
          System.out.println(rows.getInt(1));
        }
      }
    }
    connection.commit();
    connection.setAutoCommit(true);
  }

  static void batch(Connection connection) throws SQLException {
    String text = "INSERT INTO readings (sensor, n, price) VALUES (?, ?, ?)";
    System.out.println("## batch");
    try (PreparedStatement statement = connection.prepareStatement(text)) {
      for (int row = 0; row < 3; row++) {
        statement.setString(1, "s" + row);
        statement.setInt(2, row);
        statement.setNull(3, Types.NUMERIC);
        statement.addBatch();
      }
      for (int count : statement.executeBatch()) {
        System.out.println(count);
      }
    }
  }

  static void mistake(Connection connection) throws SQLException {
    System.out.println("## mistake");
    try (Statement statement = connection.createStatement()) {
      statement.executeQuery("SELECT nope FROM readings").close();
    } catch (SQLException error) {
      System.out.println(error.getSQLState());
    }
  }

  static void print(String heading, ResultSet rows, String... columns) throws SQLException {
    System.out.println("## " + heading);
    try (rows) {
      while (rows.next()) {
        List<String> cells = new ArrayList<>();
        for (String column : columns) {
          cells.add(rows.getString(column));
        }
        System.out.println(String.join(" | ", cells.stream().map(String::valueOf).toList()));
      }
    }
  }
}
