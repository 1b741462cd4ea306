package io.streamsql.bridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.monitoring.QueryMetrics;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

/** The messages have the form that tests/executor/test_bridge_messages.py reads. */
class MessageTest {
  private static final Path CONTRACT = Path.of("tests", "cases", "bridge", "messages.json");

  private static JsonNode contract(String name) throws IOException {
    return Message.JSON.readTree(CONTRACT.toFile()).get(name);
  }

  private static JsonNode written(Message message) throws IOException {
    return Message.JSON.readTree(message.json());
  }

  @Test
  void theVersionAndTheCodesAreThoseOfTheContract() throws IOException {
    assertEquals(contract("version").asInt(), Message.VERSION);
    String[] codes = Message.JSON.treeToValue(contract("codes"), String[].class);
    assertEquals(
        Arrays.asList(codes), Arrays.stream(ErrorCode.values()).map(ErrorCode::name).toList());
  }

  @Test
  void anErrorOfTheEngineIsFoundBehindOthers() throws IOException {
    JsonNode expected = contract("coded_error");
    CodedException error =
        new CodedException(
            ErrorCode.DATA_LOSS, expected.get("message").asText(), Map.of("topic", "orders"));
    Throwable thrown = new RuntimeException("Job aborted", new IllegalStateException(error));
    assertEquals(expected, written(Message.CodedError.of(thrown)));
    assertNull(Message.CodedError.of(new RuntimeException("DATA_LOSS")));
  }

  @Test
  void theStatusOfQueriesIsThatOfTheContract() throws IOException {
    JsonNode expected = contract("status");
    assertEquals(expected, written(Message.JSON.treeToValue(expected, Message.Status.class)));
  }

  @Test
  void theCountersOfAQueryHaveTheNamesOfTheContract() throws IOException {
    String query = "contract of the bridge";
    RecordMetadata written =
        new RecordMetadata(new TopicPartition("t", 0), 0, 0, System.currentTimeMillis(), 4, 5);
    QueryMetrics.of(query).wrote(written, System.currentTimeMillis(), true);
    JsonNode found = Message.JSON.readTree(QueryMetrics.all()).get(query);
    QueryMetrics.forget(query);
    JsonNode expected = contract("counters").get("Q");
    assertEquals(names(expected), names(found));
    JsonNode recent = expected.get("recent_latencies_ms");
    assertEquals(names(recent), names(found.get("recent_latencies_ms")));
    assertEquals(names(recent.get("1m")), names(found.get("recent_latencies_ms").get("1m")));
  }

  private static Set<String> names(JsonNode object) {
    Set<String> found = new TreeSet<>();
    object.fieldNames().forEachRemaining(found::add);
    return found;
  }
}
