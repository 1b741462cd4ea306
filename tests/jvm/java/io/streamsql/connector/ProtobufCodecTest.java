package io.streamsql.connector;

import static io.streamsql.connector.CodecsTest.assertRoundTrips;
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
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class ProtobufCodecTest {
  private static final Map<String, FieldDescriptorProto.Type> SCALARS =
      Map.of(
          "INT", FieldDescriptorProto.Type.TYPE_INT32,
          "BIGINT", FieldDescriptorProto.Type.TYPE_INT64,
          "DOUBLE", FieldDescriptorProto.Type.TYPE_DOUBLE,
          "BOOLEAN", FieldDescriptorProto.Type.TYPE_BOOL,
          "STRING", FieldDescriptorProto.Type.TYPE_STRING,
          "BINARY", FieldDescriptorProto.Type.TYPE_BYTES);

  /** The descriptor of a file whose message M has the field V with the number 1. */
  private static String schema(
      String syntax, FieldDescriptorProto.Type type, FieldDescriptorProto.Label label) {
    FieldDescriptorProto.Builder field =
        FieldDescriptorProto.newBuilder().setName("V").setNumber(1).setType(type).setLabel(label);
    FileDescriptorProto file =
        FileDescriptorProto.newBuilder()
            .setName("m.proto")
            .setSyntax(syntax)
            .addMessageType(DescriptorProto.newBuilder().setName("M").addField(field))
            .build();
    return Base64.getEncoder().encodeToString(file.toByteArray());
  }

  private static Codec of(String type, String syntax, FieldDescriptorProto.Type written) {
    String schema = schema(syntax, written, FieldDescriptorProto.Label.LABEL_OPTIONAL);
    return codec("PROTOBUF_NOSR", "V " + type, Map.of("schema", schema));
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  @TestFactory
  Stream<DynamicTest> scalarsAreReadAsTheyWereWritten() {
    return EdgeValues.KINDS.stream()
        .filter(kind -> SCALARS.containsKey(kind.ddl()))
        .map(
            kind ->
                DynamicTest.dynamicTest(
                    kind.ddl(),
                    () ->
                        assertRoundTrips(of(kind.ddl(), "proto2", SCALARS.get(kind.ddl())), kind)));
  }

  @Test
  void whatWasNotWrittenIsNullWhereTheSchemaCanTellAndElseTheDefault() throws Exception {
    FieldDescriptorProto.Type int32 = FieldDescriptorProto.Type.TYPE_INT32;
    assertEquals("null", EdgeValues.shownAll(decoded(of("INT", "proto2", int32), new byte[0])));
    assertEquals("0", EdgeValues.shownAll(decoded(of("INT", "proto3", int32), new byte[0])));
  }

  @Test
  void listsAreReadPackedAndOneByOne() throws Exception {
    String schema =
        schema(
            "proto3",
            FieldDescriptorProto.Type.TYPE_INT32,
            FieldDescriptorProto.Label.LABEL_REPEATED);
    Codec codec = codec("PROTOBUF_NOSR", "V ARRAY<INT>", Map.of("schema", schema));
    assertEquals("[1, 2]", EdgeValues.shownAll(decoded(codec, bytes("0a020102"))));
    assertEquals("[1, 2]", EdgeValues.shownAll(decoded(codec, bytes("08010802"))));
    assertEquals("[]", EdgeValues.shownAll(decoded(codec, new byte[0])));
    GenericInternalRow row = EdgeValues.row(EdgeValues.array(-1, 0, 7));
    assertEquals("[-1, 0, 7]", EdgeValues.shownAll(decoded(codec, codec.encode(row))));
  }

  @Test
  void fieldsWithoutAColumnAreSkipped() throws Exception {
    Codec codec = of("INT", "proto3", FieldDescriptorProto.Type.TYPE_INT32);
    assertEquals("5", EdgeValues.shownAll(decoded(codec, bytes("1203616263" + "0805"))));
  }

  @Test
  void unsignedNumbersBecomeLarge() throws Exception {
    Codec codec = of("BIGINT", "proto3", FieldDescriptorProto.Type.TYPE_UINT32);
    assertEquals("4294967295", EdgeValues.shownAll(decoded(codec, bytes("08ffffffff0f"))));
  }

  @Test
  void brokenBytesAreNoRecord() {
    Codec codec = of("STRING", "proto3", FieldDescriptorProto.Type.TYPE_STRING);
    for (String broken : List.of("0a05", "0a01ff", "ff")) {
      String reason =
          assertThrows(RecordException.class, () -> decoded(codec, bytes(broken))).getMessage();
      assertEquals("invalid Protobuf: ", reason.substring(0, 18), reason);
    }
  }

  @Test
  void aSchemaThatCannotHoldAColumnIsRefusedAtOnce() {
    FieldDescriptorProto.Type string = FieldDescriptorProto.Type.TYPE_STRING;
    assertEquals(
        "the Protobuf schema has STRING for V, which cannot hold INT",
        assertThrows(IllegalArgumentException.class, () -> of("INT", "proto3", string))
            .getMessage());
  }

  @Test
  void aFramedMessageNamesItsSchemaAndItsPlaceInIt() throws Exception {
    String schema =
        schema(
            "proto3",
            FieldDescriptorProto.Type.TYPE_INT32,
            FieldDescriptorProto.Label.LABEL_OPTIONAL);
    try (RegistryServer registry = new RegistryServer()) {
      registry.answer(
          "6?format=serialized", "{\"schemaType\":\"PROTOBUF\",\"schema\":\"" + schema + "\"}");
      Map<String, String> properties =
          Map.of("registry.url", registry.url(), "schema", schema, "schema.id", "6");
      Codec codec = codec("PROTOBUF", "V INT", properties);
      byte[] written = codec.encode(new GenericInternalRow(new Object[] {5}));
      assertEquals("0000000006" + "00" + "0805", HexFormat.of().formatHex(written));
      assertEquals("5", EdgeValues.shownAll(decoded(codec, written)));
      assertEquals("5", EdgeValues.shownAll(decoded(codec, bytes("0000000006" + "0200" + "0805"))));
    }
  }
}
