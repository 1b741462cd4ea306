package io.streamsql.databases;

import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The rows of a statement as texts. */
public final class Rows {
  private static final int SECONDS = 30;

  private Rows() {}

  /**
   * Runs a statement in a transaction of its own.
   *
   * @param parameters the texts of its question marks
   * @return none for a statement without a result
   */
  public static List<List<String>> of(Database database, String sql, List<String> parameters)
      throws IOException, SQLException {
    try (Connection connection = database.open(SECONDS, Map.of())) {
      return of(connection, sql, parameters);
    }
  }

  static List<List<String>> of(Connection connection, String sql, List<String> parameters)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < parameters.size(); i++) {
        statement.setString(i + 1, parameters.get(i));
      }
      List<List<String>> rows = new ArrayList<>();
      if (statement.execute()) {
        try (ResultSet result = statement.getResultSet()) {
          while (result.next()) {
            rows.add(row(result));
          }
        }
      }
      return rows;
    }
  }

  private static List<String> row(ResultSet result) throws SQLException {
    List<String> row = new ArrayList<>();
    for (int i = 1; i <= result.getMetaData().getColumnCount(); i++) {
      row.add(result.getString(i));
    }
    return row;
  }
}
