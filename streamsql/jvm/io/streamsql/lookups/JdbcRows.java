package io.streamsql.lookups;

import io.streamsql.databases.Database;
import io.streamsql.databases.Retries;
import io.streamsql.errors.ErrorCode;
import io.streamsql.formats.RecordException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Rows of a database's table, requested by primary key and cached for some time, missing rows too.
 */
final class JdbcRows implements RowSource {
  private final Connections connections;
  private final String query;
  private final JdbcValues values;
  private final RowCache cache;
  private final RateLimit limit;
  private final Retries retries;
  private final String name;

  /**
   * @param clock nanoseconds with an arbitrary origin
   */
  JdbcRows(LookupTable table, Connections connections, Retries retries, LongSupplier clock) {
    this.connections = connections;
    this.query = query(table);
    this.values = new JdbcValues(table.schema());
    long ttl = TimeUnit.MILLISECONDS.toNanos(table.ttlMillis());
    this.cache = new RowCache(table.rows(), table.rows() == 0 ? 0 : ttl, clock);
    this.limit = new RateLimit(table.perSecond(), clock);
    this.retries = retries;
    this.name = table.name() + " in " + table.place();
  }

  static JdbcRows of(LookupTable table) {
    return new JdbcRows(
        table,
        Connections.of(table),
        Retries.usual(ErrorCode.LOOKUP_UNAVAILABLE),
        System::nanoTime);
  }

  static String query(LookupTable table) {
    String columns =
        IntStream.range(0, table.schema().length())
            .mapToObj(i -> Database.identifier(table.column(i).name()))
            .collect(Collectors.joining(", "));
    String keys =
        IntStream.range(0, table.keys())
            .mapToObj(i -> Database.identifier(table.column(i).name()) + " = ?")
            .collect(Collectors.joining(" AND "));
    return "SELECT " + columns + " FROM " + table.table() + " WHERE " + keys;
  }

  @Override
  public InternalRow find(List<Object> key) throws RecordException {
    RowCache.Known known = cache.get(key);
    if (known != null) {
      return known.row();
    }
    retries.sleep(name, limit.turn());
    Answer answer = retries.call(name, () -> connections.with(c -> asked(c, key)));
    if (answer.problem != null) {
      throw answer.problem;
    }
    cache.put(key, answer.row);
    return answer.row;
  }

  /** A row, none, or a problem that a retry would not solve. */
  private record Answer(InternalRow row, RecordException problem) {}

  private Answer asked(Connection connection, List<Object> key) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(query)) {
      for (int i = 0; i < key.size(); i++) {
        values.set(statement, i, key.get(i));
      }
      try (ResultSet found = statement.executeQuery()) {
        if (!found.next()) {
          return new Answer(null, null);
        }
        InternalRow row = values.row(found);
        if (found.next()) {
          String several = "the table has several rows of the key, which is not unique";
          return new Answer(null, new RecordException(several));
        }
        return new Answer(row, null);
      } catch (RecordException e) {
        return new Answer(null, e);
      }
    }
  }

  @Override
  public void close() {
    connections.close();
  }
}
