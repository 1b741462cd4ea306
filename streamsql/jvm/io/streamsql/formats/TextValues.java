package io.streamsql.formats;

import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Base64;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/**
 * Parses SQL values from text. All methods throw {@link RecordException} with the type and the
 * text. Times are a number (as the formats write them) or ISO text, read in UTC.
 */
public final class TextValues {
  private static final int SHOWN = 100;

  private TextValues() {}

  public static RecordException mismatch(String type, String found) {
    return new RecordException("expected " + type + ", found " + found);
  }

  /** Text as an error shows it: quoted, at most a line. */
  public static String quoted(String text) {
    return text.length() <= SHOWN ? "'" + text + "'" : "'" + text.substring(0, SHOWN) + "...'";
  }

  public static int toInt(String text) throws RecordException {
    try {
      return Integer.parseInt(text.trim());
    } catch (NumberFormatException e) {
      throw mismatch("INT", "text " + quoted(text));
    }
  }

  public static long toLong(String text) throws RecordException {
    try {
      return Long.parseLong(text.trim());
    } catch (NumberFormatException e) {
      throw mismatch("BIGINT", "text " + quoted(text));
    }
  }

  public static double toDouble(String text) throws RecordException {
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException e) {
      throw mismatch("DOUBLE", "text " + quoted(text));
    }
  }

  public static Decimal toDecimal(String text, DecimalType type) throws RecordException {
    try {
      return fit(new BigDecimal(text.trim()), type);
    } catch (NumberFormatException e) {
      throw mismatch(type.sql(), "text " + quoted(text));
    }
  }

  /** The value with the type's scale; never rounded. */
  public static Decimal fit(BigDecimal value, DecimalType type) throws RecordException {
    long drop = (long) value.scale() - type.scale();
    long digitsBeforePoint = (long) value.precision() - value.scale();
    boolean zero = value.signum() == 0;
    // Both checks precede setScale, which does not end for an exponent of a billion.
    if (!zero
        && (digitsBeforePoint > type.precision() - type.scale() || drop >= value.precision())) {
      throw mismatch(type.sql(), "number " + quoted(value.toString()));
    }
    try {
      BigDecimal exact = zero ? BigDecimal.valueOf(0, type.scale()) : value.setScale(type.scale());
      return Decimal.apply(exact, type.precision(), type.scale());
    } catch (ArithmeticException e) {
      throw mismatch(type.sql(), "number " + quoted(value.toString()));
    }
  }

  /** Days since 1970-01-01 from a number of days, {@code yyyy-MM-dd} or a shorter prefix of it. */
  public static int toDate(String text) throws RecordException {
    String trimmed = text.trim();
    try {
      if (isInteger(trimmed)) {
        return Integer.parseInt(trimmed);
      }
      return Math.toIntExact(LocalDate.parse(completed(trimmed)).toEpochDay());
    } catch (DateTimeException | ArithmeticException | NumberFormatException e) {
      throw mismatch("DATE", "text " + quoted(text));
    }
  }

  /** Milliseconds of the day from a number of them or {@code HH:mm[:ss[.SSS]]}. */
  public static long toTime(String text) throws RecordException {
    String trimmed = text.trim();
    try {
      if (isInteger(trimmed)) {
        return Long.parseLong(trimmed);
      }
      return LocalTime.parse(trimmed).toNanoOfDay() / 1_000_000;
    } catch (DateTimeException | NumberFormatException e) {
      throw mismatch("TIME", "text " + quoted(text));
    }
  }

  /**
   * Microseconds since 1970 from a number of milliseconds or an ISO date and time, zone optional.
   */
  public static long toTimestamp(String text) throws RecordException {
    String trimmed = text.trim();
    try {
      if (isInteger(trimmed)) {
        return micros(Long.parseLong(trimmed));
      }
      int t = trimmed.indexOf('T');
      if (t < 0) {
        return micros(LocalDate.parse(completed(trimmed)).toEpochDay() * 86_400_000L);
      }
      boolean zoned =
          trimmed.endsWith("Z") || trimmed.indexOf('+', t) > 0 || trimmed.indexOf('-', t) > 0;
      OffsetDateTime time =
          zoned
              ? OffsetDateTime.parse(trimmed)
              : LocalDateTime.parse(trimmed).atOffset(ZoneOffset.UTC);
      return micros(time.toInstant().toEpochMilli());
    } catch (DateTimeException | ArithmeticException | NumberFormatException e) {
      throw mismatch("TIMESTAMP", "text " + quoted(text));
    }
  }

  public static long micros(long millis) throws RecordException {
    try {
      return Math.multiplyExact(millis, 1000L);
    } catch (ArithmeticException e) {
      throw mismatch("TIMESTAMP", "number " + millis);
    }
  }

  public static byte[] toBytes(String text) throws RecordException {
    try {
      return Base64.getDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      throw mismatch("BYTES in base64", "text " + quoted(text));
    }
  }

  private static boolean isInteger(String text) {
    int start = text.startsWith("-") ? 1 : 0;
    return text.length() > start && text.chars().skip(start).allMatch(c -> c >= '0' && c <= '9');
  }

  /** {@code 2019} and {@code 2019-02} as the first day of the year or month. */
  private static String completed(String date) {
    return switch (date.length()) {
      case 4 -> date + "-01-01";
      case 7 -> date + "-01";
      default -> date;
    };
  }
}
