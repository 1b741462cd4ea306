package io.streamsql.sinks;

import static java.time.ZoneOffset.UTC;

import java.sql.Types;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.InternalRow;

/** The types of columns in a database: how a value is sent, and which columns can hold it. */
enum ColumnType {
  BOOLEAN(Types.BOOLEAN, Types.BOOLEAN, Types.BIT),
  INTEGER(Types.INTEGER, Numbers.ALL),
  BIGINT(Types.BIGINT, Numbers.ALL),
  DOUBLE(Types.DOUBLE, Types.REAL, Types.FLOAT, Types.DOUBLE, Types.NUMERIC, Types.DECIMAL),
  DECIMAL(Types.NUMERIC, Types.REAL, Types.FLOAT, Types.DOUBLE, Types.NUMERIC, Types.DECIMAL),
  STRING(Types.VARCHAR, Types.CHAR, Types.VARCHAR, Types.LONGVARCHAR, Types.OTHER, Types.SQLXML),
  BYTES(Types.BINARY, Types.BINARY, Types.VARBINARY, Types.LONGVARBINARY),
  DATE(Types.DATE, Types.DATE, Types.TIMESTAMP, Types.TIMESTAMP_WITH_TIMEZONE),
  TIME(Types.TIME, Types.TIME),
  TIMESTAMP(Types.TIMESTAMP_WITH_TIMEZONE, Types.TIMESTAMP, Types.TIMESTAMP_WITH_TIMEZONE),
  /** A text that is the JSON of a nested value. */
  JSON(Types.VARCHAR, Types.OTHER, Types.VARCHAR, Types.LONGVARCHAR);

  private static final class Numbers {
    static final int[] ALL = {
      Types.SMALLINT,
      Types.INTEGER,
      Types.BIGINT,
      Types.REAL,
      Types.FLOAT,
      Types.DOUBLE,
      Types.NUMERIC,
      Types.DECIMAL
    };
  }

  private final int sent;

  @SuppressWarnings("ImmutableEnumChecker") // toUnmodifiableSet
  private final Set<Integer> held;

  ColumnType(int sent, int... held) {
    this.sent = sent;
    this.held = Arrays.stream(held).boxed().collect(Collectors.toUnmodifiableSet());
  }

  /**
   * @param declared the SQL type, such as {@code DECIMAL(8, 2)}
   */
  static ColumnType of(String declared) {
    return valueOf(declared.replaceFirst("\\(.*", ""));
  }

  /** The type of its parameters, of {@link Types}. */
  int sent() {
    return sent;
  }

  /** Whether a column of this type, of {@link Types}, can hold its values. */
  boolean fits(int type) {
    return held.contains(type);
  }

  /** The value of a row's column, as JDBC takes it. */
  Object value(InternalRow row, int at, int precision, int scale) {
    if (row.isNullAt(at)) {
      return null;
    }
    return switch (this) {
      case BOOLEAN -> row.getBoolean(at);
      case INTEGER -> row.getInt(at);
      case BIGINT -> row.getLong(at);
      case DOUBLE -> row.getDouble(at);
      case DECIMAL -> row.getDecimal(at, precision, scale).toJavaBigDecimal();
      case STRING, JSON -> row.getUTF8String(at).toString();
      case BYTES -> row.getBinary(at);
      case DATE -> LocalDate.ofEpochDay(row.getInt(at));
      case TIME -> LocalTime.ofNanoOfDay(row.getLong(at) * 1_000_000);
      case TIMESTAMP -> Instant.EPOCH.plus(row.getLong(at), ChronoUnit.MICROS).atOffset(UTC);
    };
  }
}
