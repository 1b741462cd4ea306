package io.streamsql.sinks;

import java.sql.SQLException;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** What the SQL of a database has of its own. */
@SuppressWarnings("ImmutableEnumChecker") // Map.of and Set.of make maps and sets that never change
enum Dialect {
  POSTGRESQL(
      "jdbc:postgresql:",
      // The server infers the types of texts, for columns such as uuid, jsonb and enums.
      Map.of("reWriteBatchedInserts", "true", "stringtype", "unspecified"),
      "SET TIME ZONE 'UTC'",
      // A deferred constraint would refuse the transaction, and not the row.
      "SET CONSTRAINTS ALL IMMEDIATE",
      Set.of("42P01"),
      // Data exceptions, cardinality, constraints, WITH CHECK OPTION, RAISE of a trigger.
      Set.of("21", "22", "23", "44", "P0"),
      Set.of("54000")),

  /** Its driver has codes of its own instead of SQL states, and its columns hold any value. */
  SQLITE(
      "jdbc:sqlite:",
      // Two transactions that read before they write would exclude each other.
      Map.of("transaction_mode", "IMMEDIATE"),
      "PRAGMA busy_timeout = 5000",
      "PRAGMA defer_foreign_keys = OFF",
      Set.of(),
      Set.of(),
      Set.of()) {
    @Override
    boolean isMissing(SQLException e) {
      return code(e) == 1 && e.getMessage().contains("no such table");
    }

    @Override
    boolean refusesRow(SQLException e) {
      // TOOBIG, CONSTRAINT, MISMATCH.
      return Set.of(18, 19, 20).contains(code(e));
    }

    @Override
    boolean lasts(SQLException e) {
      // ERROR, READONLY, AUTH, NOTADB.
      return Set.of(1, 8, 23, 26).contains(code(e));
    }

    @Override
    boolean isDuplicate(SQLException e) {
      return code(e) == 19;
    }

    private int code(SQLException e) {
      return e.getErrorCode() & 0xff;
    }

    @Override
    boolean fits(ColumnType type, int there) {
      return true;
    }

    @Override
    Object sent(Object value) {
      if (value instanceof OffsetDateTime time) {
        return STAMP.format(time);
      }
      return value instanceof LocalTime time ? TIME.format(time) : value;
    }

    @Override
    String type(ColumnType type, String declared) {
      return switch (type) {
        case DOUBLE -> "real";
        // A number of more digits would be rounded.
        case DECIMAL -> SinkRows.digits(declared)[0] > 15 ? "text" : "numeric";
        case BYTES -> "blob";
        case STRING, DATE, TIME, TIMESTAMP, JSON -> "text";
        case BOOLEAN, INTEGER, BIGINT -> type.name().toLowerCase(Locale.ROOT);
      };
    }
  };

  /** Errors that remain until someone changes the table or the rights. */
  private static final Set<String> LASTING = Set.of("0A", "3F", "42");

  private static final DateTimeFormatter STAMP =
      DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSS");
  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss.SSS");

  private final String prefix;
  private final Map<String, String> properties;
  private final String session;
  private final String transaction;
  private final Set<String> missing;
  private final Set<String> refusing;
  private final Set<String> alsoRefusing;

  /**
   * @param prefix of URLs
   * @param properties of the driver
   * @param session the first statement of a connection
   * @param transaction the first statement of a transaction
   * @param missing SQL states for a table that does not exist
   * @param refusing classes of SQL states that are the fault of a row
   * @param alsoRefusing states that are, while their classes are not
   */
  Dialect(
      String prefix,
      Map<String, String> properties,
      String session,
      String transaction,
      Set<String> missing,
      Set<String> refusing,
      Set<String> alsoRefusing) {
    this.prefix = prefix;
    this.properties = properties;
    this.session = session;
    this.transaction = transaction;
    this.missing = missing;
    this.refusing = refusing;
    this.alsoRefusing = alsoRefusing;
  }

  static Dialect of(String url) {
    for (Dialect dialect : values()) {
      if (url.startsWith(dialect.prefix)) {
        return dialect;
      }
    }
    throw new IllegalArgumentException("no dialect for " + url);
  }

  Map<String, String> properties() {
    return properties;
  }

  String session() {
    return session;
  }

  String transaction() {
    return transaction;
  }

  boolean isMissing(SQLException e) {
    return missing.contains(e.getSQLState());
  }

  /** Whether the row is at fault, rather than the connection, the server or the table. */
  boolean refusesRow(SQLException e) {
    String state = e.getSQLState();
    return state != null && (refusing.contains(group(state)) || alsoRefusing.contains(state));
  }

  boolean lasts(SQLException e) {
    return e.getSQLState() != null && LASTING.contains(group(e.getSQLState()));
  }

  /** Whether a row has the key of another one. */
  boolean isDuplicate(SQLException e) {
    return e.getSQLState() != null && group(e.getSQLState()).equals("23");
  }

  private static String group(String state) {
    return state.substring(0, Math.min(2, state.length()));
  }

  // -- statements: names are quoted already -------------------------------------------------------

  String create(String table, List<String> definitions, List<String> keys) {
    String key = keys.isEmpty() ? "" : ", PRIMARY KEY (" + String.join(", ", keys) + ")";
    return "CREATE TABLE IF NOT EXISTS "
        + table
        + " ("
        + String.join(", ", definitions)
        + key
        + ")";
  }

  String insert(String table, List<String> columns) {
    String marks = columns.stream().map(c -> "?").collect(Collectors.joining(", "));
    String names = String.join(", ", columns);
    return "INSERT INTO " + table + " (" + names + ") VALUES (" + marks + ")";
  }

  String upsert(String table, List<String> columns, List<String> keys) {
    String others =
        columns.stream()
            .filter(column -> !keys.contains(column))
            .map(column -> column + " = EXCLUDED." + column)
            .collect(Collectors.joining(", "));
    String then = others.isEmpty() ? "NOTHING" : "UPDATE SET " + others;
    String conflict = " ON CONFLICT (" + String.join(", ", keys) + ") DO ";
    return insert(table, columns) + conflict + then;
  }

  String delete(String table, List<String> keys) {
    String equal = keys.stream().map(key -> key + " = ?").collect(Collectors.joining(" AND "));
    return "DELETE FROM " + table + " WHERE " + equal;
  }

  /** Whether a column of the type {@code there}, of {@link java.sql.Types}, can hold the values. */
  boolean fits(ColumnType type, int there) {
    return type.fits(there);
  }

  /** A value as the driver takes it. */
  Object sent(Object value) {
    return value;
  }

  /** The type of a created column. */
  String type(ColumnType type, String declared) {
    return switch (type) {
      case DOUBLE -> "double precision";
      case DECIMAL -> declared.toLowerCase(Locale.ROOT).replace("decimal", "numeric");
      case STRING -> "text";
      case BYTES -> "bytea";
      case TIMESTAMP -> "timestamp with time zone";
      case JSON -> "jsonb";
      case BOOLEAN, INTEGER, BIGINT, DATE, TIME -> type.name().toLowerCase(Locale.ROOT);
    };
  }
}
