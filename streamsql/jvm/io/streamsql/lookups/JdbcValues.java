package io.streamsql.lookups;

import io.streamsql.formats.RecordException;
import io.streamsql.formats.SqlTime;
import io.streamsql.formats.TextValues;
import java.math.BigDecimal;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.Calendar;
import java.util.Locale;
import java.util.TimeZone;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** Converts values between JDBC and Spark. Times without a zone are in UTC. */
final class JdbcValues {
  private static final int MICROS_PER_MILLI = 1_000;
  private final StructField[] columns;

  JdbcValues(StructType schema) {
    this.columns = schema.fields();
  }

  /** A part of the key, counted from 0. */
  void set(PreparedStatement statement, int number, Object value) throws SQLException {
    DataType type = columns[number].dataType();
    Object given = value;
    if (value instanceof UTF8String text) {
      given = text.toString();
    } else if (value instanceof Decimal decimal) {
      given = decimal.toJavaBigDecimal();
    } else if (type instanceof DateType) {
      given = LocalDate.ofEpochDay((Integer) value);
    }
    statement.setObject(number + 1, given);
  }

  /**
   * @throws RecordException if a value does not fit the declared type
   */
  InternalRow row(ResultSet found) throws RecordException {
    Object[] values = new Object[columns.length];
    for (int i = 0; i < values.length; i++) {
      try {
        Object value = value(found, i + 1, columns[i]);
        values[i] = found.wasNull() ? null : value;
      } catch (SQLException e) {
        throw new RecordException(e.getMessage()).in("." + columns[i].name());
      } catch (RecordException e) {
        throw e.in("." + columns[i].name());
      }
    }
    return new GenericInternalRow(values);
  }

  private static Object value(ResultSet found, int at, StructField column)
      throws SQLException, RecordException {
    DataType type = column.dataType();
    if (type instanceof StringType) {
      return UTF8String.fromString(found.getString(at));
    } else if (type instanceof IntegerType) {
      return found.getInt(at);
    } else if (type instanceof LongType) {
      return SqlTime.isTime(column) ? time(found, at) : (Long) found.getLong(at);
    } else if (type instanceof DoubleType) {
      return found.getDouble(at);
    } else if (type instanceof BooleanType) {
      return found.getBoolean(at);
    } else if (type instanceof DecimalType decimal) {
      BigDecimal number = found.getBigDecimal(at);
      return number == null ? null : TextValues.fit(number, decimal);
    } else if (type instanceof DateType) {
      LocalDate date = found.getObject(at, LocalDate.class);
      return date == null ? null : Math.toIntExact(date.toEpochDay());
    } else if (type instanceof TimestampType) {
      Calendar utc = Calendar.getInstance(TimeZone.getTimeZone("UTC"), Locale.ROOT);
      Timestamp time = found.getTimestamp(at, utc);
      return time == null ? null : time.getTime() * MICROS_PER_MILLI;
    } else if (type instanceof BinaryType) {
      return found.getBytes(at);
    }
    throw new RecordException("no database type matches " + type.sql());
  }

  private static Long time(ResultSet found, int at) throws SQLException {
    LocalTime time = found.getObject(at, LocalTime.class);
    return time == null ? null : time.toNanoOfDay() / 1_000_000;
  }
}
