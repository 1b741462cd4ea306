package io.streamsql.connector;

import static io.streamsql.connector.CodecsTest.codec;
import static io.streamsql.connector.CodecsTest.decoded;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import io.streamsql.formats.Codec;
import io.streamsql.formats.RecordException;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Messages within messages, maps, and the messages that represent one value. */
class ProtobufMessagesTest {
  private static final List<String> IMPORTS =
      List.of(
          "google/protobuf/timestamp.proto",
          "google/protobuf/wrappers.proto",
          "google/type/date.proto",
          "google/type/timeofday.proto",
          "confluent/type/decimal.proto");

  private static FieldDescriptorProto.Builder field(
      String name, int number, FieldDescriptorProto.Type type) {
    return FieldDescriptorProto.newBuilder()
        .setName(name)
        .setNumber(number)
        .setType(type)
        .setLabel(FieldDescriptorProto.Label.LABEL_OPTIONAL);
  }

  private static FieldDescriptorProto.Builder message(String name, int number, String type) {
    return field(name, number, FieldDescriptorProto.Type.TYPE_MESSAGE).setTypeName(type);
  }

  /** Of a file whose message M has these fields and messages. */
  private static Codec of(String columns, DescriptorProto.Builder message) {
    FileDescriptorProto file =
        FileDescriptorProto.newBuilder()
            .setName("m.proto")
            .setSyntax("proto3")
            .addAllDependency(IMPORTS)
            .addMessageType(message.setName("M"))
            .build();
    String schema = Base64.getEncoder().encodeToString(file.toByteArray());
    return codec("PROTOBUF_NOSR", columns, Map.of("schema", schema));
  }

  private static Codec single(String column, String type) {
    return of("V " + column, DescriptorProto.newBuilder().addField(message("V", 1, type)));
  }

  private static DescriptorProto.Builder entry(String name, FieldDescriptorProto.Builder value) {
    DescriptorProto.Builder entry =
        DescriptorProto.newBuilder()
            .setName(name)
            .addField(field("key", 1, FieldDescriptorProto.Type.TYPE_STRING))
            .addField(value);
    entry.getOptionsBuilder().setMapEntry(true);
    return entry;
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  private static String read(Codec codec, String hex) throws RecordException {
    return EdgeValues.shownAll(decoded(codec, bytes(hex)));
  }

  private static String written(Codec codec, Object... values) {
    return HexFormat.of().formatHex(codec.encode(EdgeValues.row(values)));
  }

  // -- messages that represent one value ---------------------------------------------------------

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "TIMESTAMP|.google.protobuf.Timestamp|0|0a00",
        "TIMESTAMP|.google.protobuf.Timestamp|1001000|0a06080110c0843d",
        "TIME|.google.type.TimeOfDay|0|0a00",
        "TIME|.google.type.TimeOfDay|86399999|0a0c0817103b183b20c08faedc03",
        "TIME|.google.type.TimeOfDay|3600000|0a020801",
        "DATE|.google.type.Date|0|0a0708b20f10011801",
        "DATE|.google.type.Date|18321|0a0708e40f1002181d",
        "INT|.google.protobuf.Int32Value|0|0a00",
        "INT|.google.protobuf.Int32Value|5|0a020805",
        "BIGINT|.google.protobuf.UInt32Value|4294967295|0a0608ffffffff0f",
        "DOUBLE|.google.protobuf.DoubleValue|0.5|0a0909000000000000e03f",
        "BOOLEAN|.google.protobuf.BoolValue|true|0a020801",
        "STRING|.google.protobuf.StringValue|a|0a030a0161",
        "BINARY|.google.protobuf.BytesValue|x'61'|0a030a0161",
        "BINARY|.google.protobuf.BytesValue|x''|0a00",
        "DECIMAL(4,2)|.confluent.type.Decimal|1.50|0a080a02009610041802",
      })
  void aMessageThatStandsForAValue(String column, String type, String shown, String hex)
      throws Exception {
    Codec codec = single(column, type);
    Object[] values = decoded(codec, bytes(hex));
    assertEquals(shown, EdgeValues.shownAll(values));
    assertEquals(shown, read(codec, written(codec, values)));
    assertEquals("null", read(codec, ""), "what was not set");
    assertEquals("", written(codec, (Object) null));
  }

  @Test
  void momentsBefore1970() throws Exception {
    Codec codec = single("TIMESTAMP", ".google.protobuf.Timestamp");
    for (long micros : List.of(-1_000L, -1_000_000L, -62_135_596_800_000_000L)) {
      assertEquals(String.valueOf(micros), read(codec, written(codec, micros)));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "TIME,.google.type.TimeOfDay,0a020818,TIME",
    "DATE,.google.type.Date,0a0708e30f1002181d,DATE",
    "DATE,.google.type.Date,0a00,DATE",
    "'DECIMAL(4,2)',.confluent.type.Decimal,0a060a0227101802,'DECIMAL(4,2)'",
    "TIMESTAMP,.google.protobuf.Timestamp,0a0a08ffffffffffffffff7f,TIMESTAMP",
  })
  void whatIsNoSuchValueIsNoRecord(String column, String type, String hex, String wanted) {
    Codec codec = single(column, type);
    String reason =
        assertThrows(RecordException.class, () -> decoded(codec, bytes(hex))).getMessage();
    assertEquals("$.V: expected " + wanted, reason.substring(0, 14 + wanted.length()), reason);
  }

  @Test
  void aMessageIsAStructWhereThatIsTheColumn() throws Exception {
    Codec codec = single("STRUCT<SECONDS: BIGINT, NANOS: INT>", ".google.protobuf.Timestamp");
    assertEquals("(5, 7)", read(codec, "0a0408051007"));
    assertEquals("0a0408051007", written(codec, EdgeValues.row(5L, 7)));
  }

  // -- messages within messages -------------------------------------------------------------------

  private static DescriptorProto.Builder nested() {
    DescriptorProto.Builder inner =
        DescriptorProto.newBuilder()
            .setName("Inner")
            .addField(field("A", 1, FieldDescriptorProto.Type.TYPE_INT32))
            .addField(message("Again", 2, ".M.Inner"));
    return DescriptorProto.newBuilder()
        .addNestedType(inner)
        .addField(message("V", 1, ".M.Inner"))
        .addField(message("L", 2, ".M.Inner").setLabel(FieldDescriptorProto.Label.LABEL_REPEATED));
  }

  @Test
  void structsAndListsOfThem() throws Exception {
    Codec codec = of("V STRUCT<A: INT, AGAIN: STRUCT<A: INT>>, L ARRAY<STRUCT<A: INT>>", nested());
    String hex = "0a06" + "0801" + "1202" + "0802" + "1202" + "0803" + "1200";
    assertEquals("(1, (2)), [(3), (0)]", read(codec, hex));
    assertEquals(hex, written(codec, decoded(codec, bytes(hex))).replace("12020800", "1200"));
    assertEquals("null, []", read(codec, ""));
    assertEquals("(0, null), []", read(codec, "0a00"));
  }

  @Test
  void aNullAmongMessagesIsAnEmptyOne() {
    Codec codec = of("L ARRAY<STRUCT<A: INT>>", nested());
    assertEquals("1200" + "12020801", written(codec, EdgeValues.array(null, EdgeValues.row(1))));
  }

  @Test
  void aLengthThatDoesNotFitIsNoRecord() {
    Codec codec = of("V STRUCT<A: INT, AGAIN: STRUCT<A: INT>>", nested());
    for (String broken : List.of("0a05080112020802", "0a0212020802", "0a0408011205")) {
      String reason =
          assertThrows(RecordException.class, () -> decoded(codec, bytes(broken))).getMessage();
      assertEquals("invalid Protobuf: ", reason.substring(0, 18), reason);
    }
  }

  // -- maps ---------------------------------------------------------------------------------------

  @Test
  void mapsOfScalarsTimesAndMessages() throws Exception {
    DescriptorProto.Builder message =
        DescriptorProto.newBuilder()
            .addNestedType(entry("VEntry", field("value", 2, FieldDescriptorProto.Type.TYPE_INT32)))
            .addField(
                message("V", 1, ".M.VEntry").setLabel(FieldDescriptorProto.Label.LABEL_REPEATED));
    Codec codec = of("V MAP<STRING,INT>", message);
    assertEquals("[a, b]->[1, 0]", read(codec, "0a050a01611001" + "0a030a0162"));
    assertEquals("[a]->[2]", read(codec, "0a050a01611001" + "0a050a01611002"), "the last counts");
    assertEquals("[]->[1]", read(codec, "0a021001"));
    assertEquals("[]->[]", read(codec, ""));
    assertEquals("0a050a01611001", written(codec, EdgeValues.map(EdgeValues.text("a"), 1)));
  }

  @Test
  void aMapOfTimes() throws Exception {
    DescriptorProto.Builder message =
        DescriptorProto.newBuilder()
            .addNestedType(entry("VEntry", message("value", 2, ".google.type.TimeOfDay")))
            .addField(
                message("V", 1, ".M.VEntry").setLabel(FieldDescriptorProto.Label.LABEL_REPEATED));
    Codec codec = of("V MAP<STRING,TIME>", message);
    String hex = "0a070a01611202" + "0801";
    assertEquals("[a]->[3600000]", read(codec, hex));
    assertEquals(hex, written(codec, decoded(codec, bytes(hex))));
    assertEquals("[a]->[null]", read(codec, "0a030a0161"));
  }

  @Test
  void aListOfTimes() throws Exception {
    DescriptorProto.Builder message =
        DescriptorProto.newBuilder()
            .addField(
                message("V", 1, ".google.type.TimeOfDay")
                    .setLabel(FieldDescriptorProto.Label.LABEL_REPEATED));
    Codec codec = of("V ARRAY<TIME>", message);
    assertEquals("[3600000, 0]", read(codec, "0a020801" + "0a00"));
    assertEquals("0a020801" + "0a00", written(codec, EdgeValues.array(3_600_000L, 0L)));
  }
}
