package io.streamsql.connector;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.errors.CodedException;
import io.streamsql.formats.Json;
import io.streamsql.kafka.MockProducers;
import io.streamsql.kafka.PendingRecords;
import io.streamsql.kafka.SharedProducers;
import io.streamsql.kafka.WriteLease;
import io.streamsql.monitoring.CurrentRecord;
import io.streamsql.monitoring.ProcessingLog;
import io.streamsql.monitoring.QueryMetrics;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of rows at the sink: written, reported, or the task's failure. */
class KafkaSinkTest {
  private static final StructType COLUMNS =
      StructType.fromDDL(
          "T STRING, K BINARY, V BINARY, TS BIGINT, H ARRAY<STRUCT<K: STRING, V: BINARY>>");

  private final MockProducers.Shared output = MockProducers.share(false);
  private final MockProducers.Shared reports = MockProducers.share(true);
  private final MockProducer<byte[], byte[]> producer = output.producer();
  private final ProcessingLog log = new ProcessingLog("Q", "log", reports.settings(), false);
  private final KafkaSink sink =
      new KafkaSink(output.settings(), log, null, MockProducers.writer(), true);

  @BeforeEach
  void open() {
    assertTrue(sink.open(0, 0));
    CurrentRecord.set("Q", UTF8String.fromString("in"), 1, 7, null, null);
  }

  @AfterEach
  void forget() {
    SharedProducers.discard(output.settings(), producer);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** A row as the query before it has it, with this many of the sink's columns. */
  static UnsafeRow row(Object... fields) {
    StructField[] columns = Arrays.copyOf(COLUMNS.fields(), fields.length);
    return UnsafeProjection.create(new StructType(columns)).apply(EdgeValues.row(fields)).copy();
  }

  private static UnsafeRow row(Long timestamp, String value) {
    return row(EdgeValues.text("out"), bytes("k"), bytes(value), timestamp);
  }

  private String reported() {
    assertEquals(1, reports.producer().history().size());
    return new String(reports.producer().history().get(0).value(), StandardCharsets.UTF_8);
  }

  /** As the producer's own thread tells it. */
  private void refuseNext(RuntimeException error) throws InterruptedException {
    Thread sender = new Thread(() -> assertTrue(producer.errorNext(error)));
    sender.start();
    sender.join();
  }

  @Test
  void aRowIsARecord() {
    Object headers =
        EdgeValues.array(
            EdgeValues.row(EdgeValues.text("h"), bytes("v")),
            EdgeValues.row(EdgeValues.text("none"), null));
    sink.process(row(EdgeValues.text("out"), bytes("k"), bytes("v"), 5L, headers));
    ProducerRecord<byte[], byte[]> record = producer.history().get(0);
    assertEquals("out", record.topic());
    assertNull(record.partition());
    assertEquals(5L, record.timestamp());
    assertArrayEquals(bytes("k"), record.key());
    assertArrayEquals(bytes("v"), record.value());
    assertEquals("h", record.headers().toArray()[0].key());
    assertArrayEquals(bytes("v"), record.headers().lastHeader("h").value());
    assertNull(record.headers().lastHeader("none").value());
  }

  @Test
  void allButTheTopicMayBeMissing() {
    sink.process(row(EdgeValues.text("out"), null, null, null, null));
    ProducerRecord<byte[], byte[]> record = producer.history().get(0);
    assertNull(record.key());
    assertNull(record.value());
    assertNull(record.timestamp());
    assertEquals(0, record.headers().toArray().length);
  }

  @Test
  @Timeout(20)
  void aDeposedLeaderWritesNothing() {
    MockProducers.Shared leased = MockProducers.shareLeased("service");
    KafkaSink leader = new KafkaSink(leased.settings(), log, null, MockProducers.writer(), true);
    WriteLease.extend("service", System.nanoTime() + Duration.ofMinutes(1).toNanos());
    assertTrue(leader.open(0, 0));
    leader.process(row(5L, "v"));
    assertEquals(1, leased.producer().history().size());
    WriteLease.extend("service", System.nanoTime());
    Thread.currentThread().interrupt(); // as Spark does to a task that waits for long
    assertThrows(InterruptException.class, () -> leader.process(row(6L, "v")));
    assertEquals(1, leased.producer().history().size());
    Thread.interrupted();
  }

  /** The memory of a row is that of the next. */
  @Test
  void rowsOfSeveralTopics() {
    UnsafeProjection reused =
        UnsafeProjection.create(new StructType(Arrays.copyOf(COLUMNS.fields(), 4)));
    for (String topic : List.of("a", "a", "b", "a")) {
      sink.process(reused.apply(EdgeValues.row(EdgeValues.text(topic), null, null, 1L)));
    }
    assertEquals(
        List.of("a", "a", "b", "a"),
        producer.history().stream().map(ProducerRecord::topic).toList());
  }

  @Test
  void theEndOfATaskWaitsForItsRecords() {
    sink.process(row(1L, "a"));
    assertFalse(producer.flushed());
    sink.close(null);
    assertTrue(producer.flushed());
  }

  /** Those of a topic that was deleted are given up after minutes only. */
  @Test
  @Timeout(30)
  void theEndOfATaskDoesNotWaitForTheRecordsOfOthers() throws Exception {
    CountDownLatch flushing = new CountDownLatch(1);
    MockProducer<byte[], byte[]> slow =
        new MockProducer<>() {
          @Override
          public synchronized void flush() {
            flushing.countDown();
            try {
              new CountDownLatch(1).await(); // for what is never acknowledged
            } catch (InterruptedException e) {
              throw new InterruptException(e);
            }
          }
        };
    PendingRecords own = new PendingRecords();
    own.add();
    Thread task = new Thread(() -> own.flush(slow));
    task.start();
    flushing.await();
    assertTrue(task.isAlive());
    own.done();
    task.join();
  }

  @Test
  void aTaskThatFailedDoesNotWait() {
    sink.process(row(1L, "a"));
    sink.close(new IllegalStateException("another"));
    assertFalse(producer.flushed());
  }

  @Test
  void aRecordThatIsNotWrittenFailsTheTask() throws Exception {
    sink.process(row(1L, "a"));
    refuseNext(new TimeoutException("no broker"));
    assertThrows(IllegalStateException.class, () -> sink.process(row(1L, "b")));
    IllegalStateException failed =
        assertThrows(IllegalStateException.class, () -> sink.close(null));
    assertEquals("no broker", failed.getCause().getMessage());
    assertTrue(sink.open(0, 1), "the next task");
    sink.process(row(1L, "b"));
    sink.close(null);
  }

  @Test
  void whatKafkaCanNeverTakeIsReported() throws Exception {
    sink.process(row(1L, "a"));
    sink.process(row(1L, "b"));
    refuseNext(new RecordTooLargeException("too large"));
    sink.close(null);
    String entry = reported();
    assertTrue(entry.contains("\"errorMessage\":\"too large\""), entry);
    assertTrue(entry.contains("\"offset\":null"), entry);
    assertEquals(2, producer.history().size());
  }

  @Test
  void whatTheProducerRefusesItselfIsReportedWithItsRecord() {
    sink.process(row(1L, "a"));
    producer.errorNext(new InvalidTimestampException("too old"));
    String entry = reported();
    assertTrue(entry.contains("\"errorMessage\":\"too old\""), entry);
    assertTrue(entry.contains("\"partition\":1,\"offset\":7"), entry);
    sink.close(null);
  }

  @Test
  void aNegativeTimestampIsReportedAndNotSent() {
    sink.process(row(-1L, "a"));
    assertEquals(0, producer.history().size());
    assertTrue(reported().contains("the record's timestamp is negative: -1"));
    KafkaSink strict = new KafkaSink(output.settings(), null, null, MockProducers.writer(), true);
    strict.open(0, 0);
    assertThrows(CodedException.class, () -> strict.process(row(-1L, "a")));
  }

  @Test
  void withoutALogARefusedRecordFailsTheTask() throws Exception {
    KafkaSink strict = new KafkaSink(output.settings(), null, null, MockProducers.writer(), true);
    strict.open(0, 0);
    strict.process(row(1L, "a"));
    refuseNext(new RecordTooLargeException("too large"));
    assertThrows(CodedException.class, () -> strict.close(null));
  }

  /** The broker's timestamp is that of its arrival where the topic says LogAppendTime. */
  @Test
  void aLatencyIsCountedFromTheRecordsOwnTimestamp() throws Exception {
    write(sink, "Q");
    long latency = metrics("Q").path("latency_sum_ms").asLong();
    assertTrue(latency >= 20_000 && latency < 60_000, latency + " ms");
    assertTrue(metrics("Q").at("/recent_latencies_ms/1m/p50").asLong() >= 20_000);
  }

  @Test
  void theLatenciesOfACatchUpAreNotRecentOnes() throws Exception {
    ProcessingLog other = new ProcessingLog("CATCH_UP", "log", reports.settings(), false);
    write(new KafkaSink(output.settings(), other, null, MockProducers.writer(), false), "CATCH_UP");
    assertTrue(metrics("CATCH_UP").path("latency_sum_ms").asLong() >= 20_000);
    assertEquals(1, metrics("CATCH_UP").path("records_out").asInt());
    assertTrue(metrics("CATCH_UP").path("recent_latencies_ms").isEmpty());
  }

  /** One record that is 20 s old; the metrics of the query begin with it. */
  private void write(KafkaSink to, String query) {
    QueryMetrics.forget(query);
    assertTrue(to.open(0, 0));
    to.process(row(System.currentTimeMillis() - 20_000, "a"));
    assertTrue(producer.completeNext());
    to.close(null);
  }

  private static JsonNode metrics(String query) throws Exception {
    return Json.TREES.readTree(QueryMetrics.all()).path(query);
  }

  @Test
  void aProducerThatIsBrokenIsReplaced() {
    producer.sendException = new TimeoutException("of this record");
    assertThrows(TimeoutException.class, () -> sink.process(row(1L, "a")));
    assertFalse(producer.closed());
    producer.sendException = new KafkaException("fenced");
    assertThrows(KafkaException.class, () -> sink.process(row(1L, "a")));
    assertTrue(producer.closed());
  }
}
