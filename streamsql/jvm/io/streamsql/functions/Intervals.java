package io.streamsql.functions;

import java.time.LocalDateTime;
import java.time.YearMonth;
import java.time.ZoneOffset;
import java.time.temporal.ChronoField;
import java.time.temporal.ChronoUnit;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** PostgreSQL's AGE and JUSTIFY_INTERVAL, for {@code StandardFunctions}. */
public final class Intervals {
  private static final long DAY = 86_400_000_000L;
  private static final int MONTH = 30;

  private Intervals() {}

  /** From one moment to another, in UTC, by the fields of a calendar. */
  public static InternalRow age(long later, long earlier) {
    boolean negative = later < earlier;
    LocalDateTime end = time(negative ? earlier : later);
    LocalDateTime start = time(negative ? later : earlier);
    long micros = end.getLong(ChronoField.MICRO_OF_DAY) - start.getLong(ChronoField.MICRO_OF_DAY);
    int days = end.getDayOfMonth() - start.getDayOfMonth();
    long months = ChronoUnit.MONTHS.between(YearMonth.from(start), YearMonth.from(end));
    if (micros < 0) {
      micros += DAY;
      days--;
    }
    if (days < 0) {
      days += YearMonth.from(start).lengthOfMonth();
      months--;
    }
    int sign = negative ? -1 : 1;
    return row(sign * months, (long) sign * days, sign * micros);
  }

  /** Whole days out of the time, and then, if asked, whole months out of the days. */
  public static InternalRow justified(
      int months, int days, long micros, boolean ofHours, boolean ofDays) {
    long day = days + (ofHours ? micros / DAY : 0);
    long time = ofHours ? micros % DAY : micros;
    long month = months + (ofDays ? day / MONTH : 0);
    day = ofDays ? day % MONTH : day;
    boolean timeDecides = ofHours && day == 0;
    if (ofDays && month > 0 && (day < 0 || timeDecides && time < 0)) {
      day += MONTH;
      month--;
    } else if (ofDays && month < 0 && (day > 0 || timeDecides && time > 0)) {
      day -= MONTH;
      month++;
    }
    if (ofHours && day > 0 && time < 0) {
      time += DAY;
      day--;
    } else if (ofHours && day < 0 && time > 0) {
      time -= DAY;
      day++;
    }
    return row(month, day, time);
  }

  private static InternalRow row(long months, long days, long micros) {
    return new GenericInternalRow(
        new Object[] {Math.toIntExact(months), Math.toIntExact(days), micros});
  }

  private static LocalDateTime time(long micros) {
    long second = Math.floorDiv(micros, 1_000_000L);
    int nanos = (int) Math.floorMod(micros, 1_000_000L) * 1000;
    return LocalDateTime.ofEpochSecond(second, nanos, ZoneOffset.UTC);
  }
}
