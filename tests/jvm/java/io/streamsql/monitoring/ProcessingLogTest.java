package io.streamsql.monitoring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.streamsql.kafka.MockProducers;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import scala.Option;

class ProcessingLogTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final byte[] RECORD = "{\"ü\"".getBytes(StandardCharsets.UTF_8);

  private final MockProducers.Shared shared = MockProducers.share(true);
  private final ProcessingLog log = new ProcessingLog("Q1", "log", shared.settings(), true);

  @BeforeEach
  void aRecordIsProcessed() {
    CurrentRecord.set("Q1", UTF8String.fromString("in"), 3, 42, null, RECORD);
  }

  @AfterEach
  void noTask() {
    TaskContext$.MODULE$.unset();
    QueryMetrics.forget("Q1");
  }

  private JsonNode entry() throws Exception {
    assertEquals(1, shared.producer().history().size());
    ProducerRecord<byte[], byte[]> sent = shared.producer().history().get(0);
    assertEquals("log", sent.topic());
    assertNull(sent.key());
    JsonNode entry = MAPPER.readTree(sent.value());
    assertEquals("ERROR", entry.path("level").asText());
    assertEquals("Q1", entry.path("queryId").asText());
    return entry;
  }

  @Test
  void aRecordThatCannotBeReadIsThereWithItsPlaceAndBytes() throws Exception {
    log.deserializationError("Source", "value", "no JSON", RECORD);
    JsonNode entry = entry();
    assertEquals("processing.Q1.Source", entry.path("logger").asText());
    assertEquals("in", entry.path("topic").asText());
    assertEquals(3, entry.path("partition").asInt());
    assertEquals(42, entry.path("offset").asInt());
    JsonNode error = entry.path("message").path("deserializationError");
    assertEquals(0, entry.path("message").path("type").asInt());
    assertEquals("value", error.path("target").asText());
    assertEquals("no JSON", error.path("errorMessage").asText());
    assertEquals(Base64.getEncoder().encodeToString(RECORD), error.path("recordB64").asText());
  }

  @Test
  void anExpressionThatFailsIsThereWithItsRecord() throws Exception {
    log.recordProcessingError("Project", "division by zero");
    JsonNode message = entry().path("message");
    assertEquals(1, message.path("type").asInt());
    assertEquals("{\"ü\"", message.path("recordProcessingError").path("record").asText());
  }

  @Test
  void aResultThatKafkaRefusesMayHaveNoPlace() throws Exception {
    log.productionError("Sink", "too large", null);
    JsonNode entry = entry();
    assertEquals(2, entry.path("message").path("type").asInt());
    assertTrue(entry.path("partition").isNull() && entry.path("offset").isNull());
  }

  @Test
  void aResultThatItsSchemaCannotHold() throws Exception {
    log.serializationError("Sink", "key", "null of an int");
    JsonNode message = entry().path("message");
    assertEquals(3, message.path("type").asInt());
    assertEquals("key", message.path("serializationError").path("target").asText());
  }

  @Test
  void rowsAreOmittedUnlessRequested() throws Exception {
    ProcessingLog bare = new ProcessingLog("Q1", "log", shared.settings(), false);
    bare.deserializationError("Source", "value", "no JSON", RECORD);
    assertTrue(entry().at("/message/deserializationError/recordB64").isNull());
  }

  @Test
  void whatIsVeryLongIsCut() throws Exception {
    log.deserializationError("Source", "value", "x".repeat(10_000), new byte[1 << 20]);
    JsonNode error = entry().at("/message/deserializationError");
    assertEquals(4_000, error.path("errorMessage").asText().length());
    assertTrue(error.path("recordB64").isNull());
  }

  @Test
  void withoutATopicNothingIsWritten() {
    new ProcessingLog("Q1", "", shared.settings(), true).recordProcessingError("Project", "x");
    assertEquals(0, shared.producer().history().size());
  }

  @Test
  void errorsAreCounted() throws Exception {
    log.recordProcessingError("Project", "x");
    assertEquals(1, MAPPER.readTree(QueryMetrics.all()).path("Q1").path("errors").asInt());
  }

  // -- within a task ------------------------------------------------------------------------------

  private static TaskContextImpl begin() {
    TaskContextImpl task = TaskContext$.MODULE$.empty();
    TaskContext$.MODULE$.setTaskContext(task);
    return task;
  }

  @Test
  void aTaskEndsWhenItsEntriesAreWritten() {
    MockProducers.Shared slow = MockProducers.share(false);
    ProcessingLog ofTask = new ProcessingLog("Q1", "log", slow.settings(), false);
    TaskContextImpl task = begin();
    ofTask.recordProcessingError("Project", "x");
    assertFalse(slow.producer().flushed());
    task.markTaskCompleted(Option.empty());
    assertTrue(slow.producer().flushed());
    assertEquals(task, TaskContext.get());
  }

  @Test
  void aTaskWhoseEntriesCannotBeWrittenFails() {
    MockProducers.Shared slow = MockProducers.share(false);
    ProcessingLog ofTask = new ProcessingLog("Q1", "log", slow.settings(), false);
    TaskContextImpl task = begin();
    ofTask.recordProcessingError("Project", "x");
    slow.producer().errorNext(new TimeoutException("no broker"));
    IllegalStateException next =
        assertThrows(
            IllegalStateException.class, () -> ofTask.recordProcessingError("Project", "y"));
    assertEquals("cannot write the processing log", next.getMessage());
    assertThrows(RuntimeException.class, () -> task.markTaskCompleted(Option.empty()));
  }

  @Test
  void aTaskThatFailsDoesNotWaitForThem() {
    MockProducers.Shared slow = MockProducers.share(false);
    ProcessingLog ofTask = new ProcessingLog("Q1", "log", slow.settings(), false);
    TaskContextImpl task = begin();
    ofTask.recordProcessingError("Project", "x");
    IllegalStateException failure = new IllegalStateException("another");
    task.markTaskFailed(failure);
    task.markTaskCompleted(Option.apply(failure));
    assertFalse(slow.producer().flushed());
  }
}
