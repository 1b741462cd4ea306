package io.streamsql.databases;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Calls of JDBC; tests of captured tables run statements in PostgreSQL. */
class RowsTest {
  /** What was called, in order. */
  private final List<String> calls = new ArrayList<>();

  private static <T> T played(Class<T> type, InvocationHandler handler) {
    return type.cast(
        Proxy.newProxyInstance(RowsTest.class.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private Connection connection(List<List<String>> rows) {
    return played(
        Connection.class,
        (self, method, given) -> {
          calls.add(method.getName() + " " + given[0]);
          return statement(rows);
        });
  }

  /** A statement with these rows; null: it has no result. */
  private PreparedStatement statement(List<List<String>> rows) {
    return played(
        PreparedStatement.class,
        (self, method, given) ->
            switch (method.getName()) {
              case "setString" -> noted(given[0] + "=" + given[1]);
              case "execute" -> rows != null;
              case "getResultSet" -> result(rows);
              case "close" -> noted("statement closed");
              default -> throw new AssertionError(method);
            });
  }

  private Object noted(String call) {
    calls.add(call);
    return null;
  }

  private ResultSet result(List<List<String>> rows) {
    int[] at = {-1};
    return played(
        ResultSet.class,
        (self, method, given) ->
            switch (method.getName()) {
              case "next" -> ++at[0] < rows.size();
              case "getMetaData" ->
                  played(ResultSetMetaData.class, (s, m, g) -> rows.get(0).size());
              case "getString" -> value(rows.get(at[0]).get((Integer) given[0] - 1));
              case "close" -> noted("result closed");
              default -> throw new AssertionError(method);
            });
  }

  private static String value(String text) throws SQLException {
    if ("broken".equals(text)) {
      throw new SQLException("the connection is lost");
    }
    return text;
  }

  @Test
  void rowsAreTextsAndNulls() throws SQLException {
    List<List<String>> rows = List.of(Arrays.asList("1", null), List.of("2", "two"));
    assertEquals(rows, Rows.of(connection(rows), "SELECT ?, ?", List.of("a", "b")));
    assertEquals(
        List.of("prepareStatement SELECT ?, ?", "1=a", "2=b", "result closed", "statement closed"),
        calls);
  }

  @Test
  void aStatementWithoutAResultHasNoRows() throws SQLException {
    assertEquals(List.of(), Rows.of(connection(null), "DROP TABLE t", List.of()));
    assertEquals(List.of("prepareStatement DROP TABLE t", "statement closed"), calls);
  }

  @Test
  void whatFailsIsClosed() {
    List<List<String>> rows = List.of(List.of("broken"));
    assertThrows(SQLException.class, () -> Rows.of(connection(rows), "SELECT 1", List.of()));
    assertEquals(List.of("prepareStatement SELECT 1", "result closed", "statement closed"), calls);
  }
}
