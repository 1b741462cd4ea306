package io.streamsql.formats.json;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.formats.Codec;
import io.streamsql.formats.FieldNames;
import io.streamsql.formats.Framing;
import io.streamsql.formats.Json;
import io.streamsql.formats.RecordException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** JSON after the id of its schema, which is not needed to read the JSON. */
public final class JsonSchemaCodec implements Codec {
  private static final long serialVersionUID = 1L;
  private final JsonCodec json;
  private final byte[] frame;

  public JsonSchemaCodec(StructType columns, boolean wrapped, Map<String, String> properties) {
    json = new JsonCodec(columns, wrapped, absent(columns, properties.get("schema")));
    String id = properties.get("schema.id");
    frame = id == null ? null : Framing.frame(Integer.parseInt(id));
  }

  /** The schema's properties without a column. */
  private static List<String> absent(StructType columns, String schema) {
    List<String> names = new ArrayList<>();
    try {
      JsonNode root = Json.TREES.readTree(schema == null ? "{}" : schema);
      root.path("properties").fieldNames().forEachRemaining(names::add);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("the schema is not JSON", e);
    }
    int[] positions = FieldNames.positions(columns, names);
    return IntStream.range(0, positions.length)
        .filter(i -> positions[i] < 0)
        .mapToObj(names::get)
        .toList();
  }

  @Override
  public int width() {
    return json.width();
  }

  @Override
  public boolean decode(byte[] bytes, Object[] fields, int at) throws RecordException {
    Framing.schemaId(bytes);
    return json.decode(bytes, Framing.SIZE, fields, at);
  }

  @Override
  public byte[] encode(InternalRow row) {
    return json.encode(row, frame);
  }
}
