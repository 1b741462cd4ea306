package io.streamsql.monitoring;

import com.fasterxml.jackson.core.JsonGenerator;
import io.streamsql.formats.Json;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.producer.RecordMetadata;

/**
 * What each query has done since this JVM started: records and bytes read and written, records that
 * failed, and how long after a record's timestamp its result was in Kafka.
 *
 * <p>Counted where it happens, so it is known at any moment: Spark tells at the end of a batch,
 * which in real-time mode is a minute. What only Spark knows (the state's size, how long a batch
 * takes) comes from {@link QueryProgress}. On a cluster each executor counts for itself, and tells
 * the driver, which adds it up, every second: {@link ExecutorCounts}.
 */
public final class QueryMetrics {
  /** Upper bounds of the latency's classes in ms; one more class has no bound. */
  private static final long[] BOUNDS = {
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000
  };

  private static final String LATENCY = "latency ";
  private static final int LATE_ROWS_PER_MINUTE = 10;
  private static final String RECENT = "recent ";
  private static final String VIOLATION = "violation ";
  private static final String LAST_OUT = "last out";

  private static final Map<String, QueryMetrics> ALL = new ConcurrentHashMap<>();

  /** Queries that were started here, and not forgotten since. */
  private static final Set<String> STARTED = ConcurrentHashMap.newKeySet();

  private final LongAdder recordsIn = new LongAdder();
  private final LongAdder bytesIn = new LongAdder();
  private final LongAdder recordsOut = new LongAdder();
  private final LongAdder bytesOut = new LongAdder();
  private final LongAdder errors = new LongAdder();
  private final LongAdder lost = new LongAdder();
  private final LongAdder late = new LongAdder();
  private final Map<String, LongAdder> violations = new ConcurrentHashMap<>();
  private final LongAdder latencySum = new LongAdder();
  private final LongAdder[] latencies = new LongAdder[BOUNDS.length + 1];
  private final RecentLatencies recent = new RecentLatencies();

  /** The fixed counters, by the names that JVMs tell each other. */
  private final Map<String, LongAdder> named = new HashMap<>();

  /** What they had come to when they were last reported. */
  private final Map<String, Long> told = new HashMap<>();

  private final Sampling lateRows = new Sampling(LATE_ROWS_PER_MINUTE);
  private final AtomicReference<String> truncation = new AtomicReference<>();
  private volatile long lastOut;
  private volatile QueryProgress.Seen progress = QueryProgress.Seen.NOTHING;

  private QueryMetrics() {
    Arrays.setAll(latencies, i -> new LongAdder());
    named.put("records in", recordsIn);
    named.put("bytes in", bytesIn);
    named.put("records out", recordsOut);
    named.put("bytes out", bytesOut);
    named.put("errors", errors);
    named.put("lost", lost);
    named.put("late", late);
    named.put("latency", latencySum);
    for (int i = 0; i < latencies.length; i++) {
      named.put(LATENCY + i, latencies[i]);
    }
  }

  /** The counters of a query. */
  public static QueryMetrics of(String queryId) {
    return ALL.computeIfAbsent(queryId, id -> new QueryMetrics());
  }

  void read(long bytes) {
    recordsIn.increment();
    bytesIn.add(bytes);
  }

  /**
   * Kafka has acknowledged a record of the query.
   *
   * @param time from which its latency counts (ms): its own timestamp, since what Kafka
   *     acknowledges may be that of the broker's clock; null: not known
   * @param live whether its latency counts as a recent one
   */
  public void wrote(RecordMetadata record, Long time, boolean live) {
    long now = System.currentTimeMillis();
    recordsOut.increment();
    bytesOut.add(
        Math.max(0, record.serializedKeySize()) + Math.max(0, record.serializedValueSize()));
    lastOut = now;
    if (time == null) {
      return;
    }
    long latency = Math.max(0, now - time);
    latencySum.add(latency);
    int place = Arrays.binarySearch(BOUNDS, latency);
    latencies[place < 0 ? -place - 1 : place].increment();
    if (live) {
      recent.record(now, latency, 1);
    }
  }

  /** A row of the query is written, where its size is not known and its time does not count. */
  public void wrote() {
    recordsOut.increment();
    lastOut = System.currentTimeMillis();
  }

  void failed() {
    errors.increment();
  }

  /** This many records were deleted before the query read them. */
  void lost(long records) {
    lost.add(records);
  }

  /** A row came after the time for it had passed, and was dropped. */
  void late() {
    late.increment();
  }

  /** Whether a row that is late now is one of those that the processing log tells of. */
  boolean samplesLateRow() {
    return lateRows.takes(System.currentTimeMillis());
  }

  /** A record violated the constraint. */
  void violated(String constraint) {
    violations.computeIfAbsent(constraint, name -> new LongAdder()).increment();
  }

  /** Whether the query stops at this truncation of its input for the first time. */
  public boolean isNewTruncation(String place) {
    return !place.equals(truncation.getAndSet(place));
  }

  /** Spark has finished a batch; what it reports of a query after its end is left out. */
  static void progressed(String queryId, QueryProgress.Seen seen) {
    if (STARTED.contains(queryId)) {
      QueryMetrics metrics = of(queryId);
      metrics.progress = metrics.progress.and(seen);
    }
  }

  /** What has been counted since the last report, by the names of counters; for one thread. */
  private Map<String, Long> news() {
    Map<String, Long> news = new HashMap<>();
    BiConsumer<String, Long> tell =
        (name, sum) -> {
          Long before = told.put(name, sum);
          if (sum != (before == null ? 0 : before)) {
            news.put(name, sum - (before == null ? 0 : before));
          }
        };
    named.forEach((name, counter) -> tell.accept(name, counter.sum()));
    violations.forEach((constraint, counter) -> tell.accept(VIOLATION + constraint, counter.sum()));
    recent.totals().forEach((latency, count) -> tell.accept(RECENT + latency, count));
    if (!news.isEmpty()) {
      news.put(LAST_OUT, lastOut);
    }
    return news;
  }

  private void add(Map<String, Long> news) {
    news.forEach(
        (name, count) -> {
          if (name.equals(LAST_OUT)) {
            lastOut = Math.max(lastOut, count);
          } else if (name.startsWith(VIOLATION)) {
            violations
                .computeIfAbsent(name.substring(VIOLATION.length()), key -> new LongAdder())
                .add(count);
          } else if (name.startsWith(RECENT)) {
            long latency = Long.parseLong(name.substring(RECENT.length()));
            recent.record(System.currentTimeMillis(), latency, count);
          } else {
            named.get(name).add(count);
          }
        });
  }

  /**
   * What each query has counted here since the last call, for the driver's {@link #addAll}; of
   * those without news, too. In classes of Java's own, which every class loader knows.
   */
  static Map<String, Map<String, Long>> allNews() {
    Map<String, Map<String, Long>> found = new HashMap<>();
    ALL.forEach((query, metrics) -> found.put(query, metrics.news()));
    return found;
  }

  /**
   * Adds what an executor has counted. Gives the queries that are none of this driver's any more:
   * what their tasks counted last is reported after they were forgotten here.
   */
  static List<String> addAll(Map<String, Map<String, Long>> told) {
    List<String> unknown = new ArrayList<>();
    told.forEach(
        (query, news) -> {
          if (STARTED.contains(query)) {
            of(query).add(news);
          } else {
            unknown.add(query);
          }
        });
    return unknown;
  }

  /** A query starts, whose tasks may run in executors. */
  static void started(String queryId) {
    STARTED.add(queryId);
  }

  /** All queries' numbers: JSON of an object by query id. */
  public static String all() {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = Json.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      for (Map.Entry<String, QueryMetrics> entry : ALL.entrySet()) {
        out.writeObjectFieldStart(entry.getKey());
        entry.getValue().write(out);
        out.writeEndObject();
      }
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a text in memory does not fail
    }
    return text.toString();
  }

  private void write(JsonGenerator out) throws IOException {
    QueryProgress.Seen seen = progress;
    long read = recordsIn.sum();
    boolean here = read > 0 || seen.records() == 0;
    out.writeNumberField("records_in", here ? read : seen.records());
    out.writeNumberField("records_lost", lost.sum());
    out.writeNumberField("rows_late", late.sum() + seen.late());
    if (here) {
      out.writeNumberField("bytes_in", bytesIn.sum());
      out.writeNumberField("records_out", recordsOut.sum());
      out.writeNumberField("bytes_out", bytesOut.sum());
      out.writeNumberField("errors", errors.sum());
      out.writeNumberField("last_out_ms", lastOut);
      writeLatencies(out);
      writeViolations(out);
    }
    seen.write(out);
  }

  private void writeLatencies(JsonGenerator out) throws IOException {
    out.writeNumberField("latency_sum_ms", latencySum.sum());
    out.writeArrayFieldStart("latency_bounds_ms");
    for (long bound : BOUNDS) {
      out.writeNumber(bound);
    }
    out.writeEndArray();
    out.writeArrayFieldStart("latency_counts");
    for (LongAdder count : latencies) {
      out.writeNumber(count.sum());
    }
    out.writeEndArray();
    out.writeObjectFieldStart("recent_latencies_ms");
    recent.write(out, System.currentTimeMillis());
    out.writeEndObject();
  }

  private void writeViolations(JsonGenerator out) throws IOException {
    out.writeObjectFieldStart("violations");
    for (Map.Entry<String, LongAdder> entry : violations.entrySet()) {
      out.writeNumberField(entry.getKey(), entry.getValue().sum());
    }
    out.writeEndObject();
  }

  /** Forgets a query: it has ended, or starts again. */
  public static void forget(String queryId) {
    STARTED.remove(queryId);
    ALL.remove(queryId);
  }
}
