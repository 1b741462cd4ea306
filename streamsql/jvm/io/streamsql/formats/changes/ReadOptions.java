package io.streamsql.formats.changes;

import io.streamsql.formats.Precision;
import java.io.Serializable;
import java.util.Map;

/**
 * The encoding of values whose records do not specify it, from the statement.
 *
 * @param timestamps the unit of numbers in TIMESTAMP columns; null: not specified
 * @param times the same of TIME columns
 * @param preciseDecimals DECIMALs are the bytes of their unscaled value, in base64
 * @param textDecimals DECIMALs are text
 * @param latin1 BYTES are text, one letter per byte, and not base64
 */
record ReadOptions(
    Precision timestamps,
    Precision times,
    boolean preciseDecimals,
    boolean textDecimals,
    boolean latin1)
    implements Serializable {

  /** Of tools that write values as MySQL prints them. */
  static ReadOptions printed(boolean latin1) {
    return new ReadOptions(null, null, false, true, latin1);
  }

  /** Properties {@code timestamp.precision}, {@code time.precision}, {@code decimal.mode}. */
  static ReadOptions of(Map<String, String> properties) {
    String decimals = properties.get("decimal.mode");
    return new ReadOptions(
        precision(properties.get("timestamp.precision")),
        precision(properties.get("time.precision")),
        "PRECISE".equals(decimals),
        "STRING".equals(decimals),
        false);
  }

  private static Precision precision(String name) {
    return name == null ? null : Precision.valueOf(name);
  }
}
