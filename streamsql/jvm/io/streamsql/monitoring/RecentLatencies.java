package io.streamsql.monitoring;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.HdrHistogram.AtomicHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/**
 * The latencies of one query over the last minute and the last hour, in classes at most 1/16 apart.
 *
 * <p>A window is a ring of histograms, each for a fixed slice of time. The oldest slice leaves the
 * window as a whole: the minute covers 60 to 70 s, the hour 60 to 65 min.
 */
final class RecentLatencies {
  private static final long MOST_MILLIS = TimeUnit.DAYS.toMillis(365);
  private static final int DIGITS = 1;

  private final Window minute = new Window(TimeUnit.SECONDS.toMillis(10), 6);
  private final Window hour = new Window(TimeUnit.MINUTES.toMillis(5), 12);

  /** All since the query started, for {@link #totals}. */
  private final AtomicHistogram all = new AtomicHistogram(MOST_MILLIS, DIGITS);

  /** Counts results that were written at a time (ms since 1970), a latency (ms) after their own. */
  void record(long now, long latency, long count) {
    long value = Math.min(Math.max(0, latency), MOST_MILLIS);
    all.recordValueWithCount(value, count);
    minute.record(now, value, count);
    hour.record(now, value, count);
  }

  /** How many results had each latency since the query started, by the bound of its class. */
  Map<Long, Long> totals() {
    Map<Long, Long> found = new TreeMap<>();
    for (HistogramIterationValue each : all.copy().recordedValues()) {
      found.put(each.getValueIteratedTo(), each.getCountAtValueIteratedTo());
    }
    return found;
  }

  /** Writes an object for each window that has seen a result. */
  void write(JsonGenerator out, long now) throws IOException {
    minute.write(out, "1m", now);
    hour.write(out, "1h", now);
  }

  private static final class Window {
    private final long sliceMillis;
    private final AtomicReferenceArray<Slice> slices;

    Window(long sliceMillis, int whole) {
      this.sliceMillis = sliceMillis;
      slices = new AtomicReferenceArray<>(whole + 1);
    }

    void record(long now, long value, long count) {
      long number = now / sliceMillis;
      int place = (int) (number % slices.length());
      Slice slice = slices.get(place);
      if (slice == null || slice.number < number) {
        slice = slices.updateAndGet(place, old -> newer(old, number));
      }
      slice.values.recordValueWithCount(value, count);
    }

    private static Slice newer(Slice old, long number) {
      return old != null && old.number >= number
          ? old
          : new Slice(number, new AtomicHistogram(MOST_MILLIS, DIGITS));
    }

    void write(JsonGenerator out, String name, long now) throws IOException {
      Histogram sum = new Histogram(MOST_MILLIS, DIGITS);
      long oldest = now / sliceMillis - slices.length() + 1;
      for (int place = 0; place < slices.length(); place++) {
        Slice slice = slices.get(place);
        if (slice != null && slice.number >= oldest) {
          sum.add(slice.values);
        }
      }
      if (sum.getTotalCount() == 0) {
        return;
      }
      out.writeObjectFieldStart(name);
      out.writeNumberField("count", sum.getTotalCount());
      out.writeNumberField("p50", sum.getValueAtPercentile(50));
      out.writeNumberField("p95", sum.getValueAtPercentile(95));
      out.writeNumberField("p99", sum.getValueAtPercentile(99));
      out.writeNumberField("max", sum.getMaxValue());
      out.writeEndObject();
    }
  }

  /** The histogram of the time from `number` slices after 1970 on. */
  private record Slice(long number, AtomicHistogram values) {}
}
