package io.streamsql.formats.changes;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.streamsql.formats.Json;
import io.streamsql.formats.RecordException;
import io.streamsql.formats.json.JsonCodec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.StructType;

/**
 * Debezium's changes in JSON: {@code {"before": .., "after": .., "op": .., ..}}, or the same as the
 * {@code payload} next to its {@code schema}, which then defines the encoding of values. A schema
 * is as long as several changes and rarely differs between records: it is parsed once.
 */
public final class DebeziumJson extends JsonChanges {
  private static final long serialVersionUID = 1L;
  private static final Set<String> READ = Set.of("op", "before", "after", "source", "ts_ms");

  private transient volatile Schema latest;

  /** A schema's bytes, and the columns' encoding in it. */
  private static final class Schema {
    final byte[] bytes;
    final JsonNode[] columns;

    Schema(byte[] bytes, JsonNode[] columns) {
      this.bytes = bytes;
      this.columns = columns;
    }
  }

  public DebeziumJson(StructType columns, StructType source, Map<String, String> properties) {
    super(columns, source, ReadOptions.of(properties));
  }

  @Override
  public boolean read(byte[] value, List<Change> out) throws RecordException {
    Map<String, JsonNode> members = new HashMap<>();
    JsonNode[] schemas = image.none();
    try (JsonParser parser = Json.FACTORY.createParser(value)) {
      JsonToken first = parser.nextToken();
      if (first == JsonToken.VALUE_NULL) {
        return false;
      } else if (first != JsonToken.START_OBJECT) {
        throw new RecordException("expected a JSON object");
      }
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        String name = parser.currentName();
        JsonToken token = parser.nextToken();
        if (name.equals("schema") && token == JsonToken.START_OBJECT) {
          schemas = schemas(parser, value);
        } else if (name.equals("payload") && token == JsonToken.START_OBJECT) {
          payload(parser, members);
        } else if (name.equals("payload") && token == JsonToken.VALUE_NULL) {
          return false;
        } else {
          member(parser, name, members);
        }
      }
      if (parser.nextToken() != null) {
        throw new RecordException("invalid JSON: text after the end of the value");
      }
    } catch (JsonProcessingException e) {
      throw new RecordException("invalid JSON: " + JsonCodec.brief(e));
    } catch (IOException e) {
      throw new UncheckedIOException(e); // bytes in memory do not fail
    }
    out.add(change(members, schemas));
    return true;
  }

  private static void payload(JsonParser parser, Map<String, JsonNode> members) throws IOException {
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      String name = parser.currentName();
      parser.nextToken();
      member(parser, name, members);
    }
  }

  private static void member(JsonParser parser, String name, Map<String, JsonNode> members)
      throws IOException {
    if (READ.contains(name)) {
      members.put(name, Json.TREES.readTree(parser));
    } else {
      parser.skipChildren();
    }
  }

  private JsonNode[] schemas(JsonParser parser, byte[] record) throws IOException {
    int from = (int) parser.currentTokenLocation().getByteOffset();
    Schema known = latest;
    parser.skipChildren();
    int to = (int) parser.currentLocation().getByteOffset();
    if (known == null || !Arrays.equals(known.bytes, 0, known.bytes.length, record, from, to)) {
      byte[] bytes = Arrays.copyOfRange(record, from, to);
      known = new Schema(bytes, image.schemas(row(Json.TREES.readTree(bytes))));
      latest = known;
    }
    return known.columns;
  }

  /** The field of an envelope that describes a row. */
  private static JsonNode row(JsonNode schema) {
    for (JsonNode field : schema.path("fields")) {
      if (field.path("field").asText().equals("after")) {
        return field;
      }
    }
    return MissingNode.getInstance();
  }

  private Change change(Map<String, JsonNode> members, JsonNode[] schemas) throws RecordException {
    JsonNode none = MissingNode.getInstance();
    JsonNode op = members.getOrDefault("op", none);
    if (!op.isTextual()) {
      throw new RecordException(
          "not a Debezium change: it lacks op (read flattened changes as JSON)");
    }
    return new Change(
        op.textValue(),
        row("before", members, schemas),
        row("after", members, schemas),
        source(members.getOrDefault("source", none)),
        time(members.getOrDefault("ts_ms", none)));
  }

  private Object[] row(String name, Map<String, JsonNode> members, JsonNode[] schemas)
      throws RecordException {
    try {
      return image.read(members.getOrDefault(name, MissingNode.getInstance()), schemas);
    } catch (RecordException e) {
      throw e.in("." + name);
    }
  }

  @Override
  protected void changes(JsonNode record, List<Change> out) {
    throw new UnsupportedOperationException("it reads records without making trees of them");
  }
}
