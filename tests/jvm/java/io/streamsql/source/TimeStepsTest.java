package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.formats.Json;
import io.streamsql.source.RecordTimes.Timed;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

final class TimeStepsTest implements TimeSteps.Times {
  private static final TopicPartition MANY = new TopicPartition("many", 0);
  private static final TopicPartition FEW = new TopicPartition("few", 0);
  private final Map<TopicPartition, LongUnaryOperator> logs = new HashMap<>();
  private boolean closed;

  @Test
  void stepsEndAtATimeInAllTopics() {
    logs.put(MANY, offset -> offset);
    logs.put(FEW, offset -> offset * 10);
    assertEquals(
        List.of(both(361, 36), both(721, 72), both(1_000, 100), both(1_000, 100)),
        steps(4, 400, 1_000, 100));
  }

  @Test
  void whatLiesInTheFutureIsReadLast() {
    logs.put(MANY, offset -> offset);
    logs.put(FEW, offset -> offset < 99 ? 0 : 1_000_000);
    List<JsonNode> found = steps(10, 400, 1_000, 100);
    for (JsonNode step : found) {
      assertTrue(step.at("/few/0").asInt() < 100 || step.at("/many/0").asInt() == 1_000);
    }
    assertEquals(both(1_000, 100), found.get(9));
  }

  @Test
  void whatIsOutOfOrderThroughoutIsReadAllTheSame() {
    logs.put(MANY, offset -> 1_000_000 - offset);
    logs.put(FEW, offset -> 5);
    assertEquals(both(1_000, 100), steps(20, 400, 1_000, 100).get(19));
  }

  @Test
  void allThatABatchTakesIsOneStep() {
    logs.put(MANY, offset -> offset);
    logs.put(FEW, offset -> offset);
    assertEquals(List.of(both(30, 20)), steps(1, 50, 30, 20));
  }

  @Test
  void eachInputOfAQueryAsksOnceForABatch() {
    logs.put(MANY, offset -> offset);
    logs.put(FEW, offset -> offset);
    ReadUntil.Steps steps = new ReadUntil.Steps(timeSteps(50, 100, 0));
    assertEquals("50", step(steps, 1));
    assertEquals("50", step(steps, 2)); // A topic may be read twice.
    assertEquals("100", step(steps, 1));
    assertEquals("100", step(steps, 2));
    assertEquals("100", step(steps, 1)); // Nothing comes after the last one.
    steps.close();
    assertTrue(closed);
  }

  private static String step(ReadUntil.Steps steps, Object input) {
    String start = both(0, 0).toString();
    String end = steps.end(input, "many", start, both(900, 0).toString());
    return end.replaceAll(".*many\":.\"0\":(\\d+).*", "$1");
  }

  private static JsonNode both(int many, int few) {
    ObjectNode all = Json.TREES.createObjectNode();
    all.withObjectProperty("many").put("0", (long) many);
    all.withObjectProperty("few").put("0", (long) few);
    return all;
  }

  private List<JsonNode> steps(int count, long most, long many, long few) {
    TimeSteps steps = timeSteps(most, many, few);
    return Stream.generate(steps::next).limit(count).toList();
  }

  private TimeSteps timeSteps(long most, long many, long few) {
    return new TimeSteps(this, Map.of(), Map.of(MANY, many, FEW, few), most);
  }

  @Override
  public List<Timed> from(TopicPartition partition, long offset, long end) {
    return LongStream.range(offset, Math.min(end, offset + 7))
        .mapToObj(at -> new Timed(at, logs.get(partition).applyAsLong(at)))
        .toList();
  }

  @Override
  public void close() {
    closed = true;
  }
}
