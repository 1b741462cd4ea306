package io.streamsql.connector;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.streamsql.errors.CodedException;
import io.streamsql.monitoring.ProcessingLog;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** Changes of a database: {@link ChangeDecoder} and the formats that it reads. */
class ChangesTest {
  private static final UTF8String TOPIC = UTF8String.fromString("in");

  private static StructType columns(String ddl) {
    return StructType.fromDDL(ddl);
  }

  private static ChangeDecoder table(String format, Map<String, String> options, String values) {
    String keys = columns("ID INT").json();
    return ChangeDecoder.of(
        format, options, keys, columns(values).json(), true, false, null, "Source");
  }

  private static byte[] bytes(String text) {
    return text == null ? null : text.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
  }

  private static String rows(ChangeDecoder decoder, byte[] key, byte[] value) {
    List<String> shown = new ArrayList<>();
    for (Object row : ((GenericArrayData) decoder.decode(key, value, TOPIC, 1, 7)).array()) {
      shown.add(EdgeValues.shownAll(((GenericInternalRow) row).values()));
    }
    return String.join(" | ", shown);
  }

  private static String rows(ChangeDecoder decoder, String key, String value) {
    return rows(decoder, bytes(key), bytes(value));
  }

  private static String refusal(ChangeDecoder decoder, String value) {
    String message =
        assertThrows(CodedException.class, () -> rows(decoder, null, value)).getMessage();
    return message.substring(message.indexOf("7: ") + 3);
  }

  // -- Debezium in JSON ---------------------------------------------------------------------------

  @Test
  void anUpsertThatMovesAKeyDeletesTheOldOne() {
    ChangeDecoder decoder = table("DEBEZIUM_JSON", Map.of(), "V STRING");
    assertEquals(
        "1, a, false", rows(decoder, null, "{'op':'r','after':{'id':1,'v':'a','more':[{}]}}"));
    assertEquals(
        "1, null, true | 2, b, false",
        rows(decoder, null, "{'op':'u','before':{'id':1,'v':'a'},'after':{'id':2,'v':'b'}}"));
    assertEquals(
        "2, b, false", rows(decoder, null, "{'op':'u','before':null,'after':{'ID':2,'v':'b'}}"));
  }

  @Test
  void aDeletionsKeyIsThatOfTheRowBeforeOrOfTheRecord() {
    ChangeDecoder decoder = table("DEBEZIUM_JSON", Map.of(), "V STRING");
    String deleted = "{'op':'d','before':%s,'after':null}";
    assertEquals(
        "1, null, true", rows(decoder, "nonsense", deleted.formatted("{'id':1,'v':null}")));
    assertEquals("3, null, true", rows(decoder, "{'id':3}", deleted.formatted("null")));
    assertEquals(
        "3, null, true",
        rows(decoder, "{'schema':{},'payload':{'id':3}}", deleted.formatted("{'v':'x'}")));
    assertEquals(
        "$.before.ID: a part of the primary key is null or missing",
        refusal(decoder, deleted.formatted("null")));
  }

  @Test
  void aTombstoneDeletesTheKeyThatItsRecordNames() {
    ChangeDecoder decoder = table("DEBEZIUM_JSON", Map.of(), "V STRING");
    assertEquals("3, null, true", rows(decoder, "{'id':3}", null));
    assertEquals("3, null, true", rows(decoder, "{'id':3}", "null"));
    assertEquals("3, null, true", rows(decoder, "{'id':3}", "{'schema':null,'payload':null}"));
    assertEquals("", rows(decoder, "text", null));
    assertEquals("", rows(decoder, (byte[]) null, null));
  }

  @Test
  void whatIsNoChangeOfARowIsRefused() {
    ChangeDecoder decoder = table("DEBEZIUM_JSON", Map.of(), "V STRING");
    assertTrue(refusal(decoder, "{'id':1,'v':'a'}").contains("lacks op"));
    assertTrue(refusal(decoder, "{'op':'t'}").startsWith("the table was truncated"));
    assertEquals("not a change of a row: op 'm'", refusal(decoder, "{'op':'m'}"));
    assertEquals("op 'c' lacks the row after it", refusal(decoder, "{'op':'c','after':null}"));
    assertEquals(
        "$.after.ID: a part of the primary key is null or missing",
        refusal(decoder, "{'op':'c','after':{'v':'a'}}"));
    assertTrue(refusal(decoder, "{'op':").startsWith("invalid JSON"));
    assertEquals(
        "invalid JSON: text after the end of the value",
        refusal(decoder, "{'op':'c','after':{'id':1}} 2"));
    assertEquals("expected a JSON object", refusal(decoder, "[1]"));
  }

  @Test
  void aTruncationStopsTheQueryIfItIsTo() {
    ProcessingLog nowhere = new ProcessingLog("Q", "", Map.of(), false);
    String keys = columns("ID INT").json();
    String values = columns("V STRING").json();
    for (boolean stops : new boolean[] {true, false}) {
      ChangeDecoder decoder =
          ChangeDecoder.of("DEBEZIUM_JSON", Map.of(), keys, values, true, stops, nowhere, "Source");
      String truncated = "{'op':'t','before':null,'after':null}";
      if (stops) {
        assertEquals(
            "the table was truncated in the database; its rows stay, since the record does not list"
                + " them, says the record at topic in, partition 1, offset 7. To continue with"
                + " them, SET 'streamsql.on.truncate' = 'continue' and RESUME the query",
            assertThrows(CodedException.class, () -> rows(decoder, null, truncated)).getMessage());
      } else {
        assertEquals("", rows(decoder, null, truncated));
      }
      assertEquals("", rows(decoder, null, "{'op':'c','after':null}"));
    }
  }

  @Test
  void aLargeValueThatHasNotChangedIsThatOfTheRowBefore() {
    ChangeDecoder decoder = table("DEBEZIUM_JSON", Map.of(), "V STRING, B BINARY, L ARRAY<STRING>");
    String placeholder = "__debezium_unavailable_value";
    String encoded = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==";
    String after =
        "'after':{'id':1,'v':'%s','b':'%s','l':['%s']}"
            .formatted(placeholder, encoded, placeholder);
    assertEquals(
        "1, a, x'ff', [b], false",
        rows(
            decoder,
            null,
            "{'op':'u','before':{'id':1,'v':'a','b':'/w==','l':['b']}," + after + "}"));
    assertTrue(
        refusal(decoder, "{'op':'u','before':null," + after + "}")
            .startsWith("$.after.V: the unchanged value"));
  }

  @Test
  void theSchemaSaysWhatNumbersMean() {
    String fields =
        "[{'field':'d','type':'bytes','name':'org.apache.kafka.connect.data.Decimal',"
            + "'parameters':{'scale':'1'}},"
            + "{'field':'t','type':'int64','name':'io.debezium.time.NanoTimestamp'},"
            + "{'field':'l','type':'array','items':{'type':'int64',"
            + "'name':'io.debezium.time.MicroTimestamp'}}]";
    String schema = "'schema':{'fields':[{'field':'after','fields':" + fields + "}]}";
    String payload =
        "'payload':{'op':'c','after':{'id':1,'d':'Dw==','t':1700000000123456789,'l':[1999]}}";
    String wanted = "1, 1.50, 1700000000123000, [1000], false";
    ChangeDecoder decoder =
        table("DEBEZIUM_JSON", Map.of(), "D DECIMAL(6,2), T TIMESTAMP, L ARRAY<TIMESTAMP>");
    assertEquals(wanted, rows(decoder, null, "{" + schema + "," + payload + "}"));
    assertEquals(wanted, rows(decoder, null, "{" + schema + ", " + payload + "}"));
    assertEquals(wanted, rows(decoder, null, "{" + payload + "," + schema + "}"));
    String other = schema.replace("Nano", "Micro").replace("1'}", "2'}");
    assertEquals(
        "1, 0.15, 1700000000123456000, [1000], false",
        rows(decoder, null, "{" + other + "," + payload.replace("6789", "6000") + "}"));
  }

  @Test
  void withoutASchemaOptionsSayIt() {
    String value = "{'op':'c','after':{'id':1,'d':'15','t':1700000000123456}}";
    ChangeDecoder silent = table("DEBEZIUM_JSON", Map.of(), "D DECIMAL(6,2)");
    assertTrue(refusal(silent, value).contains("add DECIMAL_HANDLING_MODE"));
    silent = table("DEBEZIUM_JSON", Map.of(), "T TIMESTAMP");
    assertTrue(refusal(silent, value).contains("add TIMESTAMP_PRECISION"));
    assertEquals(
        "1, 1704067200000000, false",
        rows(silent, null, "{'op':'c','after':{'id':1,'t':'2024-01-01T00:00:00Z'}}"));
    Map<String, String> options =
        Map.of("decimal.mode", "STRING", "timestamp.precision", "MICROSECONDS");
    ChangeDecoder told = table("DEBEZIUM_JSON", options, "D DECIMAL(6,2), T TIMESTAMP");
    assertEquals("1, 15.00, 1700000000123000, false", rows(told, null, value));
    told = table("DEBEZIUM_JSON", Map.of("decimal.mode", "PRECISE"), "D DECIMAL(6,2)");
    assertEquals("1, 2.56, false", rows(told, null, value.replace("'15'", "'AQA='")));
    assertEquals("1, 1.50, false", rows(told, null, value.replace("'15'", "1.5")));
  }

  // -- the others ---------------------------------------------------------------------------------

  @Test
  void ofARecordsRowsTheLastOfAKeyCounts() {
    ChangeDecoder decoder = table("CANAL_JSON", Map.of(), "V STRING, B BINARY");
    String value = "{'type':'UPDATE','data':[%s],'old':[{'id':'2'},{'id':'1'}]}";
    assertEquals(
        "3, b, x'ff', false | 1, null, null, true | 2, a, x'61', false",
        rows(
            decoder,
            null,
            value.formatted("{'id':'3','v':'b','b':'\u00ff'},{'id':'2','v':'a','b':'a'}")));
    assertEquals("", rows(decoder, null, "{'type':'CREATE','isDdl':true,'data':null}"));
    assertTrue(refusal(decoder, "{'type':'TRUNCATE','isDdl':true}").startsWith("the table was"));
    assertTrue(refusal(decoder, "{'type':'INSERT'}").contains("lacks data"));
  }

  @Test
  void aStreamHasARowAChange() {
    String row = "STRUCT<ID: INT, V: STRING>";
    String values = "OP STRING, BEFORE " + row + ", AFTER " + row + ", SOURCE STRUCT<DB: STRING>";
    ChangeDecoder decoder =
        ChangeDecoder.of(
            "MAXWELL_JSON",
            Map.of(),
            columns("K INT").json(),
            columns(values + ", TS_MS BIGINT").json(),
            false,
            false,
            null,
            "Source");
    assertEquals(
        "7, u, (1, a), (1, b), (shop), 3000, false",
        rows(
            decoder,
            null,
            "{'type':'update','database':'shop','ts':3,'data':{'id':1,'v':'b','k':7},"
                + "'old':{'v':'a'}}"));
    assertEquals("", rows(decoder, "{'pk.id':1}", null));
  }

  @Test
  void avroNamesTypesAsDebeziumDoes() throws Exception {
    String long64 = "[\"null\",{\"type\":\"long\",\"connect.name\":\"io.debezium.time.%s\"}]";
    String text =
        "[\"null\",{\"type\":\"string\",\"connect.name\":\"io.debezium.time.ZonedTimestamp\"}]";
    String row =
        "{\"type\":\"record\",\"name\":\"Value\",\"fields\":[{\"name\":\"id\",\"type\":\"int\"},"
            + "{\"name\":\"t\",\"type\":"
            + long64.formatted("MicroTimestamp")
            + "},{\"name\":\"z\",\"type\":"
            + text
            + "}]}";
    Schema schema =
        new Schema.Parser()
            .parse(
                "{\"type\":\"record\",\"name\":\"Envelope\",\"fields\":["
                    + ("{\"name\":\"before\",\"type\":[\"null\"," + row + "]},")
                    + "{\"name\":\"after\",\"type\":[\"null\",\"Value\"]},"
                    + "{\"name\":\"op\",\"type\":\"string\"}]}");
    GenericData.Record after =
        new GenericData.Record(schema.getField("before").schema().getTypes().get(1));
    after.put("id", 1);
    after.put("t", 1_700_000_000_123_456L);
    after.put("z", "2024-01-01T00:00:00Z");
    GenericData.Record envelope = new GenericData.Record(schema);
    envelope.put("after", after);
    envelope.put("op", "c");
    try (RegistryServer registry = new RegistryServer()) {
      registry.answer(
          "1", "{\"schema\":" + JsonNodeFactory.instance.textNode(schema.toString()) + "}");
      registry.answer(
          "2",
          "{\"schema\":\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"Key\\\",\\\"fields\\\":[{\\\"name\\\":\\\"id\\\",\\\"type\\\":\\\"int\\\"}]}\"}");
      Map<String, String> options = Map.of("registry.url", registry.url());
      ChangeDecoder decoder = table("DEBEZIUM_AVRO", options, "T TIMESTAMP, Z TIMESTAMP");
      assertEquals(
          "1, 1700000000123000, 1704067200000000, false",
          rows(decoder, null, written(envelope, schema)));
      envelope.put("before", after);
      envelope.put("after", null);
      envelope.put("op", "d");
      assertEquals("1, null, null, true", rows(decoder, null, written(envelope, schema)));
      assertEquals("21, null, null, true", rows(decoder, new byte[] {0, 0, 0, 0, 2, 42}, null));
    }
  }

  private static byte[] written(GenericData.Record record, Schema schema) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(new byte[] {0, 0, 0, 0, 1});
    BinaryEncoder out = EncoderFactory.get().binaryEncoder(bytes, null);
    new GenericDatumWriter<GenericData.Record>(schema).write(record, out);
    out.flush();
    return bytes.toByteArray();
  }
}
