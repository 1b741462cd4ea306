package io.streamsql.monitoring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.MetricRegistry;
import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.formats.Json;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.SparkConf;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.resource.ResourceInformation;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Driver and executor are one JVM here: what is sent is removed before it is added. */
class ExecutorCountsTest {
  private static final String QUERY = "Q1";
  private static final TopicPartition PLACE = new TopicPartition("out", 0);

  private final DriverPlugin driver = new ExecutorCounts().driverPlugin();

  @AfterEach
  void nothingIsCounted() {
    QueryMetrics.forget(QUERY);
  }

  private static void work() {
    QueryMetrics metrics = QueryMetrics.of(QUERY);
    metrics.read(10);
    metrics.read(20);
    long time = System.currentTimeMillis() - 3_000;
    metrics.wrote(new RecordMetadata(PLACE, 0, 0, time, 3, 4), time, true);
    metrics.wrote();
    metrics.failed();
    metrics.late();
    metrics.lost(5);
    metrics.violated("S.POSITIVE");
  }

  private static JsonNode counted() throws Exception {
    return Json.TREES.readTree(QueryMetrics.all()).path(QUERY);
  }

  /** As another JVM gets it. */
  private static Object sent(Object message) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(message);
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      return in.readObject();
    }
  }

  @Test
  void whatExecutorsCountIsAddedUp() throws Exception {
    work();
    JsonNode wanted = counted();
    Object first = sent(QueryMetrics.allNews());
    QueryMetrics.forget(QUERY);
    QueryMetrics.started(QUERY);
    assertEquals(List.of(), sent(driver.receive(first)));
    assertEquals(wanted, counted());
    assertEquals(1, counted().path("violations").path("S.POSITIVE").asInt());
    assertTrue(counted().path("last_out_ms").asLong() > 0);

    assertEquals(List.of(), driver.receive(first), "of another executor");
    JsonNode both = counted();
    Map<String, Integer> doubled =
        Map.of("records_in", 4, "bytes_in", 60, "records_out", 4, "bytes_out", 14, "errors", 2);
    doubled.forEach((name, count) -> assertEquals(count, both.path(name).asInt(), name));
    assertEquals(10, both.path("records_lost").asInt());
    assertEquals(2, both.path("rows_late").asInt());
    assertEquals(2, both.path("violations").path("S.POSITIVE").asInt());
    int latencies = 0;
    for (JsonNode count : both.path("latency_counts")) {
      latencies += count.asInt();
    }
    assertEquals(2, latencies);
    assertEquals(wanted.path("last_out_ms"), both.path("last_out_ms"));
  }

  @Test
  void nothingIsReportedTwice() {
    work();
    assertEquals(2, QueryMetrics.allNews().get(QUERY).get("records in"));
    assertEquals(Map.of(), QueryMetrics.allNews().get(QUERY));
    QueryMetrics.of(QUERY).read(1);
    Map<String, Long> news = new HashMap<>(QueryMetrics.allNews().get(QUERY));
    assertNotNull(news.remove("last out"));
    assertEquals(Map.of("records in", 1L, "bytes in", 1L), news);
  }

  @Test
  void countsOfAForgottenQueryAreNotAdded() throws Exception {
    work();
    Object late = sent(QueryMetrics.allNews());
    QueryMetrics.started(QUERY);
    QueryMetrics.forget(QUERY);
    assertEquals(List.of(QUERY), sent(driver.receive(late)));
    assertTrue(counted().isMissingNode());
  }

  /** Spark's listeners are called later than a query ends. */
  @Test
  void whatSparkTellsOfAForgottenQueryIsNotAdded() throws Exception {
    QueryMetrics.started(QUERY);
    QueryMetrics.forget(QUERY);
    QueryMetrics.progressed(QUERY, QueryProgress.Seen.NOTHING);
    assertTrue(counted().isMissingNode());
  }

  @Test
  void anExecutorTellsEverySecondAndAtItsEnd() throws Exception {
    Line line = new Line(driver);
    ExecutorPlugin executor = new ExecutorCounts().executorPlugin();
    work();
    executor.init(line, Map.of());
    assertEquals(2, line.next().get(QUERY).get("records out"));
    // The driver of this line has started no query: the executor need not keep its counters.
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!counted().isMissingNode()) {
      assertTrue(System.nanoTime() < deadline, "the executor keeps unrequested counts");
      TimeUnit.MILLISECONDS.sleep(5);
    }
    work();
    executor.shutdown();
    Map<String, Map<String, Long>> last = line.next();
    while (!last.containsKey(QUERY) || last.get(QUERY).isEmpty()) {
      last = line.next();
    }
    assertEquals(2, last.get(QUERY).get("records out"));
  }

  /** To a driver, with what has gone over it. */
  private static final class Line implements PluginContext {
    final BlockingQueue<Object> messages = new LinkedBlockingQueue<>();
    private final DriverPlugin driver;

    Line(DriverPlugin driver) {
      this.driver = driver;
    }

    @SuppressWarnings("unchecked")
    Map<String, Map<String, Long>> next() throws InterruptedException {
      Object message = messages.poll(30, TimeUnit.SECONDS);
      assertNotNull(message, "the executor tells nothing");
      return (Map<String, Map<String, Long>>) message;
    }

    @Override
    public void send(Object message) {
      messages.add(message);
    }

    @Override
    public Object ask(Object message) throws Exception {
      Object answer = sent(driver.receive(sent(message)));
      messages.add(message);
      return answer;
    }

    @Override
    public MetricRegistry metricRegistry() {
      return new MetricRegistry();
    }

    @Override
    public SparkConf conf() {
      return new SparkConf(false);
    }

    @Override
    public String executorID() {
      return "1";
    }

    @Override
    public String hostname() {
      return "localhost";
    }

    @Override
    public Map<String, ResourceInformation> resources() {
      return Map.of();
    }
  }
}
