package io.streamsql.connector;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.errors.CodedException;
import io.streamsql.kafka.MockProducers;
import io.streamsql.monitoring.ProcessingLog;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** Whole records, key and value: {@link RecordDecoder} and {@link RecordEncoder}. */
class RecordsTest {
  private static final UTF8String TOPIC = UTF8String.fromString("in");

  private final MockProducers.Shared reports = MockProducers.share(true);
  private final ProcessingLog log = new ProcessingLog("Q", "log", reports.settings(), false);

  private static String schema(String ddl) {
    return (ddl.isEmpty() ? new StructType() : StructType.fromDDL(ddl)).json();
  }

  private static byte[] bytes(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }

  private static RecordDecoder decoder(ProcessingLog log, Map<String, String> key) {
    return RecordDecoder.of(
        "KAFKA", key, schema("K STRING"), "JSON", Map.of(), schema("A INT, B STRING"), log, "Src");
  }

  private static String decoded(RecordDecoder decoder, String key, String value) {
    InternalRow row = decoder.decode(bytes(key), bytes(value), TOPIC, 1, 7);
    return row == null ? null : EdgeValues.shownAll(((GenericInternalRow) row).values());
  }

  private String reported() {
    assertEquals(1, reports.producer().history().size());
    return new String(reports.producer().history().get(0).value(), StandardCharsets.UTF_8);
  }

  // -- reading ------------------------------------------------------------------------------------

  @Test
  void theKeysColumnsComeBeforeTheValues() {
    RecordDecoder decoder = decoder(null, Map.of());
    assertEquals("k, 1, x, false", decoded(decoder, "k", "{\"A\":1,\"B\":\"x\"}"));
    assertEquals("null, 1, null, false", decoded(decoder, null, "{\"A\":1}"));
    assertEquals("K A B $null_value", String.join(" ", decoder.rowType().fieldNames()));
  }

  @Test
  void noValueIsNotAValueOfNulls() {
    RecordDecoder decoder = decoder(null, Map.of());
    assertEquals("k, null, null, true", decoded(decoder, "k", null));
    assertEquals("k, null, null, true", decoded(decoder, "k", "null"));
    assertEquals("k, null, null, false", decoded(decoder, "k", "{}"));
  }

  @Test
  void theBoundsOfAWindowFollowTheValue() {
    RecordDecoder decoder = decoder(null, Map.of("window", "time", "window.size", "50"));
    String key = "k" + "\0\0\0\0\0\0\0d";
    assertEquals("k, 1, null, 100, 150, false", decoded(decoder, key, "{\"A\":1}"));
    assertEquals("null, 1, null, null, null, false", decoded(decoder, null, "{\"A\":1}"));
  }

  @Test
  void whatCannotBeReadIsReportedAndLeftOut() {
    assertNull(decoded(decoder(log, Map.of()), "k", "{\"A\":"));
    String entry = reported();
    assertTrue(entry.contains("\"target\":\"value\""), entry);
    assertTrue(entry.contains("\"logger\":\"processing.Q.Src\""), entry);
    assertTrue(entry.contains("\"topic\":\"in\",\"partition\":1,\"offset\":7"), entry);
  }

  @Test
  void soIsAKeyThatCannotBeRead() {
    assertNull(decoded(decoder(log, Map.of("window", "session")), "short", "{\"A\":1}"));
    assertTrue(reported().contains("\"target\":\"key\""));
  }

  @Test
  void withoutALogItFailsTheQuery() {
    RecordDecoder strict = decoder(null, Map.of());
    assertEquals(
        "cannot read the value of in partition 1 offset 7: $.A: expected INT, found text 'x'",
        assertThrows(CodedException.class, () -> decoded(strict, "k", "{\"A\":\"x\"}"))
            .getMessage());
  }

  // -- writing ------------------------------------------------------------------------------------

  private static RecordEncoder strict() {
    String record =
        "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"A\",\"type\":\"int\"}]}";
    return RecordEncoder.of("AVRO", Map.of("schema", record, "schema.id", "1"), schema("A INT"));
  }

  @Test
  void aStructIsWrittenAndNoStructIsNoBytes() {
    RecordEncoder encoder = RecordEncoder.of("JSON", Map.of(), schema("A INT"));
    assertEquals(
        "{\"A\":1}", new String(encoder.encode(EdgeValues.row(1)), StandardCharsets.UTF_8));
    assertNull(encoder.encode(null));
    assertFalse(encoder.reports());
  }

  @Test
  void whatTheSchemaCannotHoldIsReportedAndMarked() {
    RecordEncoder encoder = strict().reporting(log, "value");
    assertTrue(encoder.reports());
    byte[] written = encoder.encode(EdgeValues.row((Object) null));
    assertTrue(RecordEncoder.isUnwritable(written));
    assertTrue(reported().contains("\"target\":\"value\""));
    assertFalse(RecordEncoder.isUnwritable(encoder.encode(EdgeValues.row(1))));
    assertFalse(RecordEncoder.isUnwritable(null));
  }

  @Test
  void theSinkLeavesItOut() {
    byte[] marked = strict().reporting(log, "key").encode(EdgeValues.row((Object) null));
    MockProducers.Shared output = MockProducers.share(true);
    KafkaSink sink = new KafkaSink(output.settings(), log, null, MockProducers.writer(), true);
    sink.open(0, 0);
    sink.process(KafkaSinkTest.row(EdgeValues.text("out"), marked, bytes("v"), 1L));
    sink.process(KafkaSinkTest.row(EdgeValues.text("out"), bytes("k"), marked, 1L));
    sink.close(null);
    assertEquals(0, output.producer().history().size());
  }

  @Test
  void withoutALogThatFailsTheQuery() {
    assertThrows(RuntimeException.class, () -> strict().encode(EdgeValues.row((Object) null)));
  }

  /** Spark sends both to its executors. */
  @Test
  void bothAreSerializable() throws Exception {
    assertEquals("k, 1, null, false", decoded(copied(decoder(log, Map.of())), "k", "{\"A\":1}"));
    RecordEncoder encoder = copied(strict().reporting(log, "value"));
    assertEquals(6, encoder.encode(EdgeValues.row(1)).length);
  }

  @SuppressWarnings("unchecked")
  private static <T> T copied(T object) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(object);
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      return (T) in.readObject();
    }
  }
}
