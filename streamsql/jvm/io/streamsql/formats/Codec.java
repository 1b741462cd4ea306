package io.streamsql.formats;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * One side of a record, its key or its value, between bytes and columns.
 *
 * <p>Values are in Catalyst's internal form: {@code UTF8String}, {@code Decimal}, micros for
 * TIMESTAMP, days for DATE, milliseconds of the day (BIGINT) for TIME. Codecs keep no state between
 * records and may be used by several threads.
 */
public interface Codec extends Serializable {
  /** How many fields {@link #decode} fills and {@link #encode} reads. */
  int width();

  /**
   * Reads {@code bytes}, which are not null, into {@code fields[at]} and the following.
   *
   * @return false if the bytes stand for "no row" (JSON null): all fields are then null
   * @throws RecordException if they are not what the columns' types need
   */
  boolean decode(byte[] bytes, Object[] fields, int at) throws RecordException;

  /** The bytes for {@code width()} fields of {@code row}; null where the format says so. */
  byte[] encode(InternalRow row);
}
