package io.streamsql.connector;

import static io.streamsql.connector.CodecsTest.assertRoundTrips;
import static io.streamsql.connector.CodecsTest.codec;
import static io.streamsql.connector.CodecsTest.decoded;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.streamsql.formats.Codec;
import io.streamsql.formats.RecordException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class AvroCodecTest {
  private static final String TIME = "{\"type\":\"int\",\"logicalType\":\"time-millis\"}";

  /** What each type is written as. */
  private static final Map<String, String> SCHEMAS =
      Map.ofEntries(
          Map.entry("INT", "\"int\""),
          Map.entry("BIGINT", "\"long\""),
          Map.entry("DOUBLE", "\"double\""),
          Map.entry("BOOLEAN", "\"boolean\""),
          Map.entry("STRING", "\"string\""),
          Map.entry("BINARY", "\"bytes\""),
          Map.entry("DECIMAL(38,10)", decimal(38, 10)),
          Map.entry("DECIMAL(4,2)", decimal(4, 2)),
          Map.entry("DATE", "{\"type\":\"int\",\"logicalType\":\"date\"}"),
          Map.entry("TIMESTAMP", "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}"),
          Map.entry("TIME", TIME),
          Map.entry("ARRAY<TIME>", "{\"type\":\"array\",\"items\":[\"null\"," + TIME + "]}"),
          Map.entry("MAP<STRING,TIME>", "{\"type\":\"map\",\"values\":[\"null\"," + TIME + "]}"),
          Map.entry("ARRAY<INT>", "{\"type\":\"array\",\"items\":[\"null\",\"int\"]}"),
          Map.entry("MAP<STRING,BIGINT>", "{\"type\":\"map\",\"values\":[\"null\",\"long\"]}"),
          Map.entry(
              "STRUCT<A: INT, B: ARRAY<STRUCT<C: STRING>>>",
              record(
                  "S",
                  field("A", "\"int\""),
                  field(
                      "B",
                      "{\"type\":\"array\",\"items\":[\"null\","
                          + record("E", field("C", "\"string\""))
                          + "]}"))));

  private RegistryServer registry;
  private int ids;

  @BeforeEach
  void start() throws Exception {
    registry = new RegistryServer();
  }

  @AfterEach
  void stop() {
    registry.close();
  }

  private static String decimal(int precision, int scale) {
    return "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":"
        + precision
        + ",\"scale\":"
        + scale
        + "}";
  }

  private static String field(String name, String schema) {
    return "{\"name\":\"" + name + "\",\"type\":[\"null\"," + schema + "],\"default\":null}";
  }

  private static String record(String name, String... fields) {
    return "{\"type\":\"record\",\"name\":\""
        + name
        + "\",\"fields\":["
        + String.join(",", fields)
        + "]}";
  }

  /** A codec that writes by this schema, whose id is the next one from 1. */
  private Codec writing(String columns, String schema) {
    String id = Integer.toString(++ids);
    registry.answer(id, "{\"schema\":" + JsonNodeFactory.instance.textNode(schema) + "}");
    Map<String, String> properties =
        Map.of("registry.url", registry.url(), "schema", schema, "schema.id", id);
    return codec("AVRO", columns, properties);
  }

  private Codec reading(String columns) {
    return codec("AVRO", columns, Map.of("registry.url", registry.url()));
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  private static String reason(Codec codec, String hex) {
    return assertThrows(RecordException.class, () -> decoded(codec, bytes(hex))).getMessage();
  }

  @TestFactory
  Stream<DynamicTest> whatIsWrittenIsReadAgain() {
    return EdgeValues.KINDS.stream()
        .map(
            kind ->
                DynamicTest.dynamicTest(
                    kind.ddl(),
                    () -> {
                      String schema = record("R", field("V", SCHEMAS.get(kind.ddl())));
                      assertRoundTrips(writing("V " + kind.ddl(), schema), kind);
                    }));
  }

  @Test
  void aRecordIsReadByTheSchemaThatItWasWrittenWith() throws Exception {
    String written =
        record("R", field("v", "\"int\""), field("other", "\"string\""), field("S", "\"long\""));
    registry.answer("9", "{\"schema\":" + JsonNodeFactory.instance.textNode(written) + "}");
    Codec codec = reading("S STRING, V BIGINT, GONE INT");
    byte[] record = bytes("00000000090201" + "0202" + "41" + "0203");
    assertEquals("-2, -1, null", EdgeValues.shownAll(decoded(codec, record)));
    decoded(codec, record);
    assertEquals(1, registry.asked(), "a schema is asked for once");
  }

  @Test
  void aTimeInMicrosecondsIsRead() throws Exception {
    String time = "{\"type\":\"long\",\"logicalType\":\"time-micros\"}";
    Codec codec = writing("V TIME", record("R", field("V", time)));
    byte[] written = codec.encode(EdgeValues.row(86_399_999L));
    assertEquals("86399999", EdgeValues.shownAll(decoded(codec, written)));
    assertEquals("0", EdgeValues.shownAll(decoded(codec, bytes("00000000010200"))));
  }

  // -- schemas that refer to others ---------------------------------------------------------------

  private static String quoted(String text) {
    return JsonNodeFactory.instance.textNode(text).toString();
  }

  private static String referring(String schema, String... names) {
    List<String> references = new ArrayList<>();
    for (String name : names) {
      references.add("{\"name\":\"" + name + "\",\"subject\":\"a/" + name + "\",\"version\":2}");
    }
    String list = String.join(",", references);
    return "{\"schema\":" + quoted(schema) + ",\"references\":[" + list + "]}";
  }

  /** A line of two points of a number each, in three schemas. */
  @Test
  void aSchemaIsReadWithThoseItRefersTo() throws Exception {
    String number =
        "{\"type\":\"record\",\"name\":\"N\",\"fields\":[" + field("x", "\"int\"") + "]}";
    String point = record("P", "{\"name\":\"N\",\"type\":\"N\"}");
    String line = record("L", "{\"name\":\"A\",\"type\":\"P\"}", "{\"name\":\"B\",\"type\":\"P\"}");
    registry.answer("9", referring(line, "P", "N"));
    registry.answerPath("/subjects/a%2FP/versions/2", referring(point, "N"));
    registry.answerPath("/subjects/a%2FN/versions/2", referring(number));
    Codec codec = reading("A STRUCT<N: STRUCT<X: INT>>, B STRUCT<N: STRUCT<X: INT>>");
    byte[] record = bytes("0000000009" + "0202" + "00");
    assertEquals("((1)), ((null))", EdgeValues.shownAll(decoded(codec, record)));
    decoded(codec, record);
    assertEquals(3, registry.asked(), "each is asked for once");
  }

  @Test
  void aSchemaIsWrittenWithThoseItRefersTo() throws Exception {
    String point = record("P", field("X", "\"int\""));
    String line = record("L", "{\"name\":\"A\",\"type\":[\"null\",\"P\"],\"default\":null}");
    Codec codec =
        codec(
            "AVRO",
            "A STRUCT<X: INT>",
            Map.of(
                "schema",
                line,
                "schema.id",
                "9",
                "schema.references",
                "{\"P\":" + quoted(point) + "}"));
    byte[] written = codec.encode(EdgeValues.row(EdgeValues.row(-1)));
    assertEquals("0000000009" + "02" + "0201", HexFormat.of().formatHex(written));
  }

  @Test
  void aReferenceThatIsMissingFailsTheQuery() {
    registry.answer("9", referring(record("L", "{\"name\":\"A\",\"type\":\"P\"}"), "P"));
    Codec codec = reading("A STRUCT<X: INT>");
    assertEquals(
        "the schema registry lacks the reference P",
        assertThrows(IllegalStateException.class, () -> decoded(codec, bytes("0000000009" + "02")))
            .getMessage());
  }

  @Test
  void whatIsNoRecordOfTheSchemaSaysWhy() {
    Codec codec = writing("V INT", record("R", field("V", "\"int\"")));
    assertEquals("the record does not begin with the id of a schema", reason(codec, "7b7d"));
    assertEquals(
        "invalid Avro: bytes after the end of the value", reason(codec, "0000000001" + "020200"));
    assertEquals(
        "the schema registry has no schema with the id 2", reason(codec, "0000000002" + "0202"));
    registry.answer("3", "{\"schemaType\":\"JSON\",\"schema\":\"{}\"}");
    assertEquals(
        "the record's schema is of type JSON, not AVRO", reason(codec, "0000000003" + "0202"));
    String cut = reason(codec, "0000000001" + "02");
    assertEquals("invalid Avro: ", cut.substring(0, 14));
  }

  @Test
  void aTextThatIsNoIntIsNamedWithItsColumn() {
    String schema = record("R", field("V", "\"string\""));
    registry.answer("4", "{\"schema\":" + JsonNodeFactory.instance.textNode(schema) + "}");
    assertEquals(
        "$.V: expected INT, found Avro string", reason(reading("V INT"), "0000000004" + "020278"));
  }

  @Test
  void aRecordBeginsWithTheIdOfItsSchema() {
    Codec codec = writing("V INT", record("R", field("V", "\"int\"")));
    byte[] written = codec.encode(new GenericInternalRow(new Object[] {-1}));
    assertEquals("0000000001" + "0201", HexFormat.of().formatHex(written));
    written = codec.encode(new GenericInternalRow(new Object[] {null}));
    assertEquals("00", HexFormat.of().formatHex(Arrays.copyOfRange(written, 5, written.length)));
  }
}
