package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.errors.CodedException;
import io.streamsql.formats.Json;
import io.streamsql.kafka.MockProducers;
import io.streamsql.monitoring.ProcessingLog;
import io.streamsql.monitoring.QueryMetrics;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a query does about records that are gone before it has read them. */
class DataLossTest {
  @TempDir Path folder;

  private final MockProducers.Shared shared = MockProducers.share(true);
  private TopicLog there = new TopicLog("first", Map.of(0, 0L), Map.of(0, 100L));

  @AfterEach
  void forget() {
    QueryMetrics.forget("Q");
  }

  private DataLoss stops() {
    return loss(null, false);
  }

  private DataLoss goesOn() {
    return loss(new ProcessingLog("Q", "log", shared.settings(), false), false);
  }

  /** That of a new run on the same checkpoint. */
  private DataLoss loss(ProcessingLog log, boolean exactlyOnce) {
    TopicIdentity identity = TopicIdentity.in(folder.toString(), new Configuration(), "t");
    return new DataLoss("t", (topic, partitions) -> there, identity, log, exactlyOnce);
  }

  private void log(String id, long begin, long end) {
    there = new TopicLog(id, Map.of(0, begin), Map.of(0, end));
  }

  private static String at(long offset) {
    return "{\"t\":{\"0\":" + offset + "}}";
  }

  private List<String> entries() throws Exception {
    List<String> found = new ArrayList<>();
    for (ProducerRecord<byte[], byte[]> sent : shared.producer().history()) {
      JsonNode entry = Json.TREES.readTree(sent.value());
      JsonNode records = entry.path("message").path("dataLoss").path("records");
      found.add(
          entry.path("topic").asText()
              + " "
              + entry.path("partition").asText()
              + " "
              + entry.path("offset").asText()
              + " "
              + records);
    }
    return found;
  }

  private String error(DataLoss loss, String start, String end) {
    return assertThrows(CodedException.class, () -> loss.begin(start, end)).getMessage();
  }

  @Test
  void whatIsThereIsRead() {
    assertEquals(at(7), stops().begin(at(7), at(9)));
    log("first", 7, 9);
    assertEquals(at(7), stops().begin(at(7), null));
    assertEquals(at(9), stops().begin(at(9), null));
  }

  @Test
  void whatWasDeletedStopsTheQuery() {
    log("first", 12, 100);
    String error = error(stops(), at(5), at(100));
    assertTrue(error.contains("topic t"), error);
    assertTrue(error.contains("partition 0, expected offset 5: offsets [5, 12)"), error);
    assertTrue(error.contains("'streamsql.on.data.loss' = 'continue'"), error);
    assertTrue(error(stops(), at(5), null).contains("[5, 12)"));
  }

  @Test
  void orItContinuesAndSaysSoOnce() throws Exception {
    log("first", 12, 100);
    DataLoss loss = goesOn();
    assertEquals(at(12), loss.begin(at(5), at(100)));
    assertEquals(at(12), loss.begin(at(5), at(100)), "the batch is planned a second time");
    assertEquals(List.of("t 0 5 7"), entries());
    assertEquals(7, Json.TREES.readTree(QueryMetrics.all()).path("Q").path("records_lost").asInt());
  }

  @Test
  void aBatchThatIsGoneAsAWholeLosesNoMoreThanItsOwn() throws Exception {
    log("first", 12, 100);
    assertEquals(at(9), goesOn().begin(at(5), at(9)));
    assertEquals(at(12), goesOn().begin(at(9), at(100)));
    assertEquals(List.of("t 0 5 7", "t 0 9 3"), entries());
  }

  @Test
  void aNewPartitionIsReadFromItsFirstRecord() {
    there = new TopicLog("first", Map.of(0, 0L, 1, 3L), Map.of(0, 9L, 1, 9L));
    String both = "{\"t\":{\"0\":9,\"1\":9}}";
    assertTrue(error(stops(), at(5), both).contains("partition 1, expected offset 0"));
    assertEquals("{\"t\":{\"0\":5,\"1\":3}}", goesOn().begin(at(5), both));
  }

  @Test
  void aRecreatedTopicIsNotTheSame() throws Exception {
    stops().begin(at(0), at(100));
    log("second", 0, 200);
    assertTrue(error(stops(), at(100), at(200)).contains("deleted and recreated"));
    assertEquals(at(0), goesOn().begin(at(100), at(200)));
    assertEquals(List.of("t 0 100 null"), entries());
  }

  @Test
  void theFirstBatchOfARecreatedTopicCanBeRunAgain() {
    stops().begin(at(0), at(100));
    log("second", 0, 200);
    assertEquals(at(0), goesOn().begin(at(100), at(150)));
    assertEquals(at(0), goesOn().begin(at(100), at(150)), "it has failed");
    assertEquals(at(150), goesOn().begin(at(150), at(200)));
    assertEquals(at(100), goesOn().begin(at(100), at(200)), "those of the new topic by now");
  }

  @Test
  void afterItsCommitTheSameOffsetsAreOfTheNewTopic() {
    stops().begin(at(0), null);
    log("second", 0, 100);
    DataLoss loss = goesOn();
    assertEquals(at(0), loss.begin(at(100), null));
    loss.ended();
    loss.committed();
    assertEquals(at(100), loss.begin(at(100), null));
  }

  @Test
  void aTopicOfWhichNothingWasReadMayBeAnother() {
    log("first", 0, 0);
    stops().begin(at(0), null);
    log("second", 0, 9);
    assertEquals(at(0), stops().begin(at(0), at(9)));
  }

  @Test
  void anOlderCheckpointDoesNotSayWhichTopicItWas() {
    log("second", 0, 9);
    assertTrue(error(stops(), at(50), at(9)).contains("deleted and recreated"));
    assertEquals(at(0), goesOn().begin(at(50), at(9)));
  }

  @Test
  void aLogThatWasCutOffIsReadFromItsEnd() throws Exception {
    stops().begin(at(50), null);
    log("first", 0, 40);
    assertTrue(error(stops(), at(50), null).contains("truncated at offset 40"));
    assertEquals(at(40), goesOn().begin(at(50), null));
  }

  @Test
  void exactlyOnceDoesNotContinueInAnotherTopic() {
    ProcessingLog log = new ProcessingLog("Q", "log", shared.settings(), false);
    loss(log, true).begin(at(100), null);
    log("second", 0, 200);
    assertTrue(error(loss(log, true), at(100), null).contains("exactly_once"));
  }

  @Test
  void whatChangesWithinTheNextRoundIsSeen() {
    DataLoss loss = stops();
    loss.begin(at(5), null);
    log("first", 12, 100);
    assertEquals(at(5), loss.begin(at(5), null), "the same batch");
    loss.ended();
    assertTrue(error(loss, at(5), null).contains("[5, 12)"));
  }

  @Test
  void aTopicThatIsGoneIsLeftToSpark() {
    there = null;
    assertEquals(at(5), stops().begin(at(5), at(9)));
  }
}
