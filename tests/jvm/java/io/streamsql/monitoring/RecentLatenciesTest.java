package io.streamsql.monitoring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.formats.Json;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class RecentLatenciesTest {
  private static final long START = 1_800_000_000_000L;

  private final RecentLatencies latencies = new RecentLatencies();

  private JsonNode after(long seconds) throws Exception {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = Json.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      latencies.write(out, START + TimeUnit.SECONDS.toMillis(seconds));
      out.writeEndObject();
    }
    return Json.TREES.readTree(text.toString());
  }

  @Test
  void noPercentileIsMoreThanTenPercentAboveTheExactOne() throws Exception {
    List<Long> exact = new ArrayList<>();
    for (long value = 1; value < 10_000_000; value += 1 + value / 50) {
      exact.add(value);
      latencies.record(START, value, 1);
    }
    JsonNode minute = after(0).path("1m");
    assertEquals(exact.size(), minute.path("count").asInt());
    for (int percent : List.of(50, 95, 99)) {
      long wanted = exact.get((int) Math.ceil(exact.size() * percent / 100.0) - 1);
      long shown = minute.path("p" + percent).asLong();
      assertTrue(shown >= wanted && shown <= wanted * 1.1, percent + "%: " + wanted + ", " + shown);
    }
    assertTrue(minute.path("max").asLong() >= exact.get(exact.size() - 1));
  }

  @Test
  void whatIsOlderThanAMinuteCountsInTheHourOnly() throws Exception {
    latencies.record(START, 60_000, 1_000); // catching up
    for (long second = 0; second < 300; second++) {
      latencies.record(START + TimeUnit.SECONDS.toMillis(second), 3, 10);
    }
    assertEquals(3, after(299).path("1m").path("p99").asLong());
    assertEquals(3, after(299).path("1m").path("max").asLong());
    assertTrue(after(299).path("1h").path("p99").asLong() >= 60_000);
    long count = after(299).path("1m").path("count").asLong();
    assertTrue(count >= 600 && count <= 700, count + " in a minute");
  }

  @Test
  void nothingIsSaidOfAWindowWithoutResults() throws Exception {
    assertTrue(after(0).isEmpty());
    latencies.record(START, 3, 1);
    assertEquals(3, after(59).path("1m").path("p50").asLong());
    assertTrue(after(71).path("1m").isMissingNode());
    assertEquals(3, after(3_599).path("1h").path("p50").asLong());
    assertTrue(after(3_901).isEmpty());
  }

  @Test
  void totalsNeverForget() {
    latencies.record(START, 3, 2);
    latencies.record(START + TimeUnit.DAYS.toMillis(1), 3, 1);
    latencies.record(START, -5, 1); // a clock that is ahead
    assertEquals(Map.of(3L, 3L, 0L, 1L), latencies.totals());
  }
}
