package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.source.RecordTimes.Timed;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

final class TimeStepsTest {
  private static final TopicPartition MANY = new TopicPartition("many", 0);
  private static final TopicPartition FEW = new TopicPartition("few", 0);
  private final Map<TopicPartition, LongUnaryOperator> logs = new HashMap<>();

  @Test
  void stepsEndAtATimeInAllTopics() {
    logs.put(MANY, offset -> offset);
    logs.put(FEW, offset -> offset * 10);
    assertEquals(
        List.of(
            "{\"few\":{\"0\":36},\"many\":{\"0\":361}}",
            "{\"few\":{\"0\":72},\"many\":{\"0\":721}}",
            "{\"few\":{\"0\":100},\"many\":{\"0\":1000}}"),
        steps(400, 1_000, 100));
  }

  @Test
  void whatLiesInTheFutureIsReadLast() {
    logs.put(MANY, offset -> offset);
    logs.put(FEW, offset -> offset < 99 ? 0 : 1_000_000);
    List<String> found = steps(400, 1_000, 100);
    assertTrue(found.get(0).startsWith("{\"few\":{\"0\":36}"), found::toString);
    assertTrue(found.get(found.size() - 2).startsWith("{\"few\":{\"0\":99}"), found::toString);
    assertEquals("{\"few\":{\"0\":100},\"many\":{\"0\":1000}}", found.get(found.size() - 1));
  }

  @Test
  void whatIsOutOfOrderThroughoutIsReadAllTheSame() {
    logs.put(MANY, offset -> 1_000_000 - offset);
    logs.put(FEW, offset -> 5);
    List<String> found = steps(400, 1_000, 100);
    assertEquals("{\"few\":{\"0\":100},\"many\":{\"0\":1000}}", found.get(found.size() - 1));
  }

  @Test
  void allThatABatchTakesIsOneStep() {
    logs.put(MANY, offset -> offset);
    logs.put(FEW, offset -> offset);
    assertEquals(List.of("{\"few\":{\"0\":20},\"many\":{\"0\":30}}"), steps(50, 30, 20));
  }

  @Test
  void eachInputOfAQueryIsToldOnceForABatch() {
    ReadUntil.inSteps("q", List.of(offsets(1), offsets(2)));
    assertEquals(offsets(1), step(1));
    assertEquals(offsets(1), step(2)); // A topic may be read twice.
    assertEquals(offsets(2), step(1));
    assertEquals(offsets(2), step(2));
    assertEquals(offsets(2), step(1)); // Nothing comes after the last one.
    ReadUntil.atOnce("q");
    assertEquals(offsets(9), step(1));
  }

  private static String step(Object input) {
    return ReadUntil.step("q", input, "t", offsets(0), offsets(9));
  }

  private static String offsets(int offset) {
    return "{\"t\":{\"0\":" + offset + "}}";
  }

  private List<String> steps(long most, long many, long few) {
    TimeSteps steps = new TimeSteps(this::from, Map.of(MANY, many, FEW, few), most);
    return steps.from(Map.of(MANY, 0L, FEW, 0L));
  }

  private List<Timed> from(TopicPartition partition, long offset, long end) {
    return LongStream.range(offset, Math.min(end, offset + 7))
        .mapToObj(at -> new Timed(at, logs.get(partition).applyAsLong(at)))
        .toList();
  }
}
