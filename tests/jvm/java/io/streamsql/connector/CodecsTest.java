package io.streamsql.connector;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.formats.Codec;
import io.streamsql.formats.RecordException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The formats that need no registry, by what the queries ask of them: {@link Codecs#of}. */
class CodecsTest {
  private static final Map<String, String> BARE = Map.of("wrap", "false");

  static Codec codec(String format, String columns, Map<String, String> properties) {
    return Codecs.of(format, properties, EdgeValues.columns(columns));
  }

  static Object[] decoded(Codec codec, byte[] bytes) throws RecordException {
    Object[] fields = new Object[codec.width()];
    assertTrue(codec.decode(bytes, fields, 0));
    return fields;
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }

  // -- round trips --------------------------------------------------------------------------------

  @TestFactory
  Stream<DynamicTest> whatIsWrittenIsReadAgain() {
    List<DynamicTest> tests = new ArrayList<>();
    for (String format : List.of("JSON", "DELIMITED", "KAFKA")) {
      for (EdgeValues.Kind kind : EdgeValues.KINDS) {
        if (kind.isHeldBy(format)) {
          tests.add(
              DynamicTest.dynamicTest(
                  format + " " + kind.ddl(),
                  () -> assertRoundTrips(codec(format, "V " + kind.ddl(), Map.of()), kind)));
        }
      }
    }
    for (EdgeValues.Kind kind : EdgeValues.KINDS) {
      tests.add(
          DynamicTest.dynamicTest(
              "bare JSON " + kind.ddl(),
              () -> assertRoundTrips(codec("JSON", "V " + kind.ddl(), BARE), kind)));
      tests.add(
          DynamicTest.dynamicTest(
              "JSON_SR " + kind.ddl(),
              () ->
                  assertRoundTrips(
                      codec("JSON_SR", "V " + kind.ddl(), Map.of("schema.id", "7")), kind)));
    }
    return tests.stream();
  }

  static void assertRoundTrips(Codec codec, EdgeValues.Kind kind) throws RecordException {
    for (Object value : kind.values()) {
      byte[] bytes = codec.encode(new GenericInternalRow(new Object[] {value}));
      Object[] read = decoded(codec, bytes);
      assertEquals(EdgeValues.shown(value), EdgeValues.shown(read[0]), () -> "by " + text(bytes));
    }
  }

  // -- what is written ----------------------------------------------------------------------------

  @Test
  void jsonWritesNullFieldsAndPlainDigits() {
    Codec codec = codec("JSON", "A INT, B DECIMAL(20,10), C DOUBLE", Map.of());
    InternalRow row =
        new GenericInternalRow(
            new Object[] {null, EdgeValues.decimal("0.0000000001", 20, 10), 1.5});
    assertEquals("{\"A\":null,\"B\":0.0000000001,\"C\":1.5}", text(codec.encode(row)));
  }

  @Test
  void aBareNullIsNoBytes() {
    InternalRow row = new GenericInternalRow(new Object[] {null});
    assertNull(codec("JSON", "V INT", BARE).encode(row));
    assertNull(codec("KAFKA", "V INT", Map.of()).encode(row));
    assertNull(codec("DELIMITED", "V INT", Map.of()).encode(row));
    assertNull(codec("NONE", "", Map.of()).encode(row));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "a|1|a,1",
        "a,b|1|\"a,b\",1",
        "a\"b|1|\"a\"\"b\",1",
        "-a|1|\"-a\",1",
        "`a `|1|\"a \",1",
        "``|1|\"\",1",
      })
  void delimitedQuotesWhereAReaderNeedsIt(String first, int second, String line) throws Exception {
    Codec codec = codec("DELIMITED", "A STRING, B INT", Map.of());
    byte[] bytes =
        codec.encode(new GenericInternalRow(new Object[] {EdgeValues.text(first), second}));
    assertEquals(line, text(bytes));
    assertEquals(first.isEmpty() ? "null" : first, EdgeValues.shown(decoded(codec, bytes)[0]));
  }

  @Test
  void kafkaWritesBigEndian() {
    Codec codec = codec("KAFKA", "V INT", Map.of());
    byte[] bytes = codec.encode(new GenericInternalRow(new Object[] {-2}));
    assertEquals("fffffffe", HexFormat.of().formatHex(bytes));
  }

  @Test
  void aRegisteredRecordBeginsWithTheIdOfItsSchema() {
    Map<String, String> properties =
        Map.of("schema.id", "258", "schema", "{\"properties\":{\"V\":{},\"absent\":{}}}");
    byte[] bytes =
        codec("JSON_SR", "V INT", properties).encode(new GenericInternalRow(new Object[] {1}));
    assertEquals("0000000102", HexFormat.of().formatHex(bytes, 0, 5));
    assertEquals(
        "{\"V\":1,\"absent\":null}",
        new String(bytes, 5, bytes.length - 5, StandardCharsets.UTF_8));
  }

  // -- keys of windows ----------------------------------------------------------------------------

  @Test
  void aWindowStandsBehindTheKeysOwnBytes() throws Exception {
    Codec time = codec("KAFKA", "K STRING", Map.of("window", "time", "window.size", "50"));
    byte[] bytes =
        time.encode(new GenericInternalRow(new Object[] {EdgeValues.text("k"), 100L, 0L}));
    assertEquals("6b0000000000000064", HexFormat.of().formatHex(bytes));
    assertEquals("k, 100, 150", EdgeValues.shownAll(decoded(time, bytes)));

    Codec session = codec("KAFKA", "K STRING", Map.of("window", "session"));
    bytes = session.encode(new GenericInternalRow(new Object[] {EdgeValues.text("k"), 1L, 2L}));
    assertEquals("6b00000000000000020000000000000001", HexFormat.of().formatHex(bytes));
    assertEquals("k, 1, 2", EdgeValues.shownAll(decoded(session, bytes)));
    byte[] tooShort = new byte[15];
    assertEquals(
        "a windowed key has at least 16 bytes, found 15",
        assertThrows(RecordException.class, () -> decoded(session, tooShort)).getMessage());
  }

  // -- what is no record of the format ------------------------------------------------------------

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "JSON|V INT|{\"V\":\"x\"}|$.V: expected INT, found text 'x'",
        "JSON|V INT|{\"v\":true}|$.V: expected INT, found boolean true",
        "JSON|V BOOLEAN|{\"V\":0}|$.V: expected BOOLEAN, found number 0",
        "JSON|V DECIMAL(4,2)|{\"V\":100}|$.V: expected DECIMAL(4,2), found number '100'",
        "JSON|V DECIMAL(4,2)|{\"V\":0.001}|$.V: expected DECIMAL(4,2), found number '0.001'",
        "JSON|V DECIMAL(4,2)|{\"V\":1e999999999}|$.V: expected DECIMAL(4,2), found number"
            + " '1E+999999999'",
        "JSON|V BINARY|{\"V\":\"*\"}|$.V: expected BYTES in base64, found text '*'",
        "JSON|V DATE|{\"V\":\"1.1.1970\"}|$.V: expected DATE, found text '1.1.1970'",
        "JSON|V TIMESTAMP|{\"V\":9223372036854775807}|$.V: expected TIMESTAMP, found number"
            + " 9223372036854775807",
        "JSON|V ARRAY<INT>|{\"V\":[1,{}]}|$.V[1]: expected INT, found object",
        "JSON|V MAP<STRING,INT>|{\"V\":{\"k\":[]}}|$.V['k']: expected INT, found array",
        "JSON|V STRUCT<A: STRUCT<B: INT>>|{\"V\":{\"A\":{\"B\":\"\"}}}|$.V.A.B: expected INT, found"
            + " text ''",
        "JSON|V INT|[]|expected STRUCT, found array",
        "JSON|V INT|``|invalid JSON: the record is empty",
        "JSON|V INT|{\"V\":1} 2|invalid JSON: text after the end of the value",
        "DELIMITED|A INT, B INT|1|unexpected field count: expected 2, found 1",
        "DELIMITED|A INT, B INT|1,x|$.B: expected INT, found text 'x'",
        "DELIMITED|A INT|2147483648|$.A: expected INT, found text '2147483648'",
        "DELIMITED|A STRING|\"a|a quoted field has no closing quote",
        "DELIMITED|A STRING|\"a\"b|found text after the closing quote of a field",
        "KAFKA|A INT|12345|$.A: expected INT of 4 bytes, found 5",
        "JSON_SR|A INT|{}|the record does not begin with the id of a schema",
      })
  void theReasonSaysWhereAndWhat(String format, String columns, String record, String reason) {
    Codec codec = codec(format, columns, Map.of());
    assertEquals(
        reason,
        assertThrows(RecordException.class, () -> decoded(codec, utf8(record))).getMessage());
  }

  @Test
  void jsonNullIsNoRow() throws Exception {
    Codec codec = codec("JSON", "V INT", Map.of());
    Object[] fields = {null};
    assertFalse(codec.decode(utf8("null"), fields, 0));
    assertNull(fields[0]);
  }

  // -- ksqlDB's coercions
  // ---------------------------------------------------------------------------

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "INT|1.9|1",
        "INT|4294967297|1",
        "INT|\" 7 \"|7",
        "BIGINT|-1.5|-1",
        "DOUBLE|\"1e3\"|1000.0",
        "STRING|{\"a\":1.50}|{\"a\":1.50}",
        "STRING|[1,[true,\"x\"]]|[1, [true, x]]",
        "STRING|1.50|1.50",
        "DATE|\"2020-02\"|18293",
        "TIMESTAMP|\"1970-01-01T00:00:01+01:00\"|-3599000000",
        "TIMESTAMP|-1|-1000",
        "DECIMAL(4,2)|\"1.5\"|1.50",
      })
  void jsonReadsWhatCanBecomeTheType(String type, String json, String expected) throws Exception {
    Codec codec = codec("JSON", "V " + type, Map.of());
    assertEquals(expected, EdgeValues.shown(decoded(codec, utf8("{\"V\":" + json + "}"))[0]));
  }

  @Test
  void anExactNameComesBeforeOneThatDiffersInCase() throws Exception {
    Codec codec = codec("JSON", "V INT", Map.of());
    assertEquals("1", EdgeValues.shownAll(decoded(codec, utf8("{\"V\":1,\"v\":2}"))));
    assertEquals("1", EdgeValues.shownAll(decoded(codec, utf8("{\"v\":2,\"V\":1}"))));
    assertEquals("2", EdgeValues.shownAll(decoded(codec, utf8("{\"v\":2,\"x\":[{}]}"))));
  }

  // -- what a format cannot hold
  // ----------------------------------------------------------------------

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "DELIMITED|V ARRAY<INT>",
        "KAFKA|V BOOLEAN",
        "KAFKA|A INT, B INT",
        "NONE|V INT",
        "JSON|V MAP<INT,INT>",
        "SOAP|V INT",
      })
  void whatAFormatCannotHoldIsRefusedAtOnce(String format, String columns) {
    assertThrows(IllegalArgumentException.class, () -> codec(format, columns, Map.of()));
  }

  @Test
  void theDelimiterIsOneCharacter() throws Exception {
    Codec codec = codec("DELIMITED", "A INT, B STRING", Map.of("delimiter", "\t"));
    Object[] row = {1, EdgeValues.text("a\tb,c")};
    byte[] bytes = codec.encode(new GenericInternalRow(row));
    assertArrayEquals(utf8("1\t\"a\tb,c\""), bytes);
    assertEquals("1, a\tb,c", EdgeValues.shownAll(decoded(codec, bytes)));
    assertThrows(
        IllegalArgumentException.class,
        () -> codec("DELIMITED", "A INT", Map.of("delimiter", "ab")));
  }
}
