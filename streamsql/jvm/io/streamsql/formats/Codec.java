package io.streamsql.formats;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Converts one side of a record, its key or its value, between bytes and columns.
 *
 * <p>Values are in Catalyst's internal form: {@code UTF8String}, {@code Decimal}, micros for
 * TIMESTAMP, days for DATE, milliseconds of the day (BIGINT) for TIME. Codecs are stateless between
 * records and thread-safe.
 */
public interface Codec extends Serializable {
  /** The number of fields that {@link #decode} fills and {@link #encode} reads. */
  int width();

  /**
   * Reads {@code bytes}, which are not null, into {@code fields[at]} and the following.
   *
   * @return false if the bytes mean "no row" (JSON null): all fields are then null
   * @throws RecordException if they do not fit the columns' types
   */
  boolean decode(byte[] bytes, Object[] fields, int at) throws RecordException;

  /** The bytes for {@code width()} fields of {@code row}; null where the format requires it. */
  byte[] encode(InternalRow row);
}
