package io.streamsql.functions;

import java.text.ParsePosition;
import java.text.SimpleDateFormat;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import java.util.Date;
import java.util.Locale;
import java.util.TimeZone;
import java.util.concurrent.TimeUnit;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Dates and times as text in patterns of {@link DateTimeFormatter}, for {@code Expressions.invoke}.
 *
 * <p>Values are in Spark's form: a TIMESTAMP is microseconds, a DATE days, both since the epoch; a
 * TIME is milliseconds of the day. A call that fails gives null: a text that does not match its
 * pattern, an invalid pattern or time zone.
 */
public final class DateTimes {
  private static final long DAY_MILLIS = TimeUnit.DAYS.toMillis(1);
  private static final ZonedDateTime EPOCH = Instant.EPOCH.atZone(ZoneOffset.UTC);

  private static final Memo<DateTimeFormatter> FORMATTERS =
      new Memo<>(
          pattern ->
              new DateTimeFormatterBuilder()
                  .parseCaseInsensitive()
                  .appendPattern(pattern)
                  .toFormatter(Locale.ENGLISH));

  private static final Memo<ZoneId> ZONES = new Memo<>(ZoneId::of);

  /** Unlike the formatters, not thread-safe. */
  private static final ThreadLocal<Memo<SimpleDateFormat>> DATE_FORMATS =
      ThreadLocal.withInitial(() -> new Memo<>(DateTimes::dateFormat));

  private DateTimes() {}

  public static UTF8String formatTimestamp(long micros, UTF8String pattern, UTF8String zone) {
    return text(pattern, instant(micros), zone);
  }

  /** Missing fields are those of 1970-01-01T00:00; a zone in the text takes precedence. */
  public static Long parseTimestamp(UTF8String text, UTF8String pattern, UTF8String zone) {
    try {
      TemporalAccessor parsed = FORMATTERS.get(pattern.toString()).parse(text.toString());
      ZoneId named = parsed.query(TemporalQueries.zone());
      ZonedDateTime moment =
          EPOCH.withZoneSameLocal(named == null ? ZONES.get(zone.toString()) : named);
      if (parsed.isSupported(ChronoField.YEAR)) {
        // First of all, since the last day of a leap year may follow.
        moment = moment.with(ChronoField.YEAR, parsed.getLong(ChronoField.YEAR));
      }
      for (ChronoField field : ChronoField.values()) {
        if (parsed.isSupported(field)) {
          moment = moment.with(field, parsed.getLong(field));
        }
      }
      return TimeUnit.MILLISECONDS.toMicros(moment.toInstant().toEpochMilli());
    } catch (DateTimeException | IllegalArgumentException | ArithmeticException e) {
      return null;
    }
  }

  public static UTF8String formatDate(int days, UTF8String pattern) {
    return text(pattern, LocalDate.ofEpochDay(days));
  }

  /** The text may continue after the pattern; it must not name a time of day. */
  @SuppressWarnings("JavaUtilDate") // its parser takes what java.time's does not
  public static Integer parseDate(UTF8String text, UTF8String pattern) {
    try {
      SimpleDateFormat format = DATE_FORMATS.get().get(pattern.toString());
      Date date = format.parse(text.toString(), new ParsePosition(0));
      if (date == null || date.getTime() % DAY_MILLIS != 0) {
        return null;
      }
      return Math.toIntExact(date.getTime() / DAY_MILLIS);
    } catch (IllegalArgumentException | ArithmeticException e) {
      return null;
    }
  }

  /** The whole text follows the pattern and names a day. */
  public static Integer parseWholeDate(UTF8String text, UTF8String pattern) {
    try {
      TemporalAccessor parsed = FORMATTERS.get(pattern.toString()).parse(text.toString());
      return Math.toIntExact(LocalDate.from(parsed).toEpochDay());
    } catch (DateTimeException | IllegalArgumentException | ArithmeticException e) {
      return null;
    }
  }

  public static UTF8String formatTime(long millis, UTF8String pattern) {
    try {
      return text(pattern, LocalTime.ofNanoOfDay(TimeUnit.MILLISECONDS.toNanos(millis)));
    } catch (DateTimeException e) {
      return null; // it names no day
    }
  }

  /** The text must not name a date. */
  public static Long parseTime(UTF8String text, UTF8String pattern) {
    try {
      TemporalAccessor parsed = FORMATTERS.get(pattern.toString()).parse(text.toString());
      for (ChronoField field : ChronoField.values()) {
        if (field.isDateBased() && parsed.isSupported(field)) {
          return null;
        }
      }
      return TimeUnit.NANOSECONDS.toMillis(LocalTime.from(parsed).toNanoOfDay());
    } catch (DateTimeException | IllegalArgumentException e) {
      return null;
    }
  }

  /** The moment, shifted by the offset between the two zones at that moment. */
  public static Long convertZone(long micros, UTF8String given, UTF8String wanted) {
    try {
      Instant moment = instant(micros);
      int from = ZONES.get(given.toString()).getRules().getOffset(moment).getTotalSeconds();
      int to = ZONES.get(wanted.toString()).getRules().getOffset(moment).getTotalSeconds();
      return micros + TimeUnit.SECONDS.toMicros(to - from);
    } catch (DateTimeException e) {
      return null;
    }
  }

  private static UTF8String text(UTF8String pattern, Instant moment, UTF8String zone) {
    try {
      return text(pattern, moment.atZone(ZONES.get(zone.toString())));
    } catch (DateTimeException e) {
      return null;
    }
  }

  private static UTF8String text(UTF8String pattern, TemporalAccessor value) {
    try {
      return UTF8String.fromString(FORMATTERS.get(pattern.toString()).format(value));
    } catch (DateTimeException | IllegalArgumentException e) {
      return null;
    }
  }

  private static Instant instant(long micros) {
    long seconds = Math.floorDiv(micros, 1_000_000L);
    return Instant.ofEpochSecond(seconds, Math.floorMod(micros, 1_000_000L) * 1_000L);
  }

  private static SimpleDateFormat dateFormat(String pattern) {
    SimpleDateFormat format = new SimpleDateFormat(pattern, Locale.ENGLISH);
    format.setTimeZone(TimeZone.getTimeZone("GMT"));
    return format;
  }
}
