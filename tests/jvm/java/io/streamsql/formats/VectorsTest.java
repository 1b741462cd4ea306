package io.streamsql.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.streamsql.formats.json.JsonCodec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The codecs give the forms of values that Python's are held to as well. */
class VectorsTest {
  private static final Path VECTORS = Path.of("tests", "cases", "codecs", "values.json");

  static Stream<JsonNode> vectors() throws IOException {
    List<JsonNode> found = new ArrayList<>();
    new ObjectMapper().readTree(VECTORS.toFile()).forEach(found::add);
    return found.stream();
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void aValueHasTheSameFormsHere(JsonNode vector) throws RecordException {
    StructType columns = StructType.fromDDL("V " + vector.get("spark").asText());
    Codec json = new JsonCodec(columns, true);
    String text = vector.get("JSON").asText();
    GenericInternalRow row = read(json, bytes(text));
    assertEquals(text, text(json.encode(row)));
    if (vector.has("DELIMITED")) {
      Codec delimited = new DelimitedCodec(columns, ',');
      String line = vector.get("DELIMITED").asText();
      assertEquals(line, text(delimited.encode(row)));
      // An empty text is written as one, but read as null.
      if (!line.equals("\"\"")) {
        assertEquals(text, text(json.encode(read(delimited, bytes(line)))));
      }
    }
    if (vector.has("KAFKA")) {
      Codec kafka = new KafkaCodec(columns);
      byte[] binary = HexFormat.of().parseHex(vector.get("KAFKA").asText());
      assertEquals(vector.get("KAFKA").asText(), HexFormat.of().formatHex(kafka.encode(row)));
      assertEquals(text, text(json.encode(read(kafka, binary))));
    }
  }

  private static GenericInternalRow read(Codec codec, byte[] bytes) throws RecordException {
    Object[] fields = new Object[1];
    assertTrue(codec.decode(bytes, fields, 0));
    return new GenericInternalRow(fields);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
