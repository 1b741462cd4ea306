package io.streamsql.connector;

import io.streamsql.formats.Codec;
import io.streamsql.formats.DelimitedCodec;
import io.streamsql.formats.KafkaCodec;
import io.streamsql.formats.NoneCodec;
import io.streamsql.formats.WindowedKeyCodec;
import io.streamsql.formats.avro.AvroCodec;
import io.streamsql.formats.changes.CanalJson;
import io.streamsql.formats.changes.ChangeReader;
import io.streamsql.formats.changes.DebeziumAvro;
import io.streamsql.formats.changes.DebeziumJson;
import io.streamsql.formats.changes.MaxwellJson;
import io.streamsql.formats.json.JsonCodec;
import io.streamsql.formats.json.JsonSchemaCodec;
import io.streamsql.formats.protobuf.ProtobufCodec;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * Finds the codec for a format by its name. Properties:
 *
 * <ul>
 *   <li>{@code delimiter}: one character, DELIMITED only, default comma
 *   <li>{@code wrap}: JSON, JSON_SR and AVRO with one column, "true" (default): an object with one
 *       field, "false": the bare value
 *   <li>{@code registry.url} and others of {@code registry.}, see {@link
 *       io.streamsql.formats.SchemaRegistry}: where AVRO, PROTOBUF and JSON_SR find the schema of a
 *       record by its id
 *   <li>{@code schema}, {@code schema.id}, {@code schema.references}, {@code schema.message}: the
 *       writer's schema, and the reader's of PROTOBUF_NOSR
 *   <li>{@code window}: "time" or "session": the bytes end with the bounds of a window, and two
 *       columns WINDOWSTART, WINDOWEND follow the columns of the schema
 *   <li>{@code window.size}: milliseconds, for {@code window=time}: WINDOWEND = WINDOWSTART + size
 * </ul>
 */
final class Codecs {
  private Codecs() {}

  static Codec of(String format, Map<String, String> properties, StructType columns) {
    Codec plain =
        switch (format) {
          case "JSON" -> new JsonCodec(columns, wrapped(properties, columns));
          case "DELIMITED" -> new DelimitedCodec(columns, delimiter(properties));
          case "KAFKA" -> new KafkaCodec(columns);
          case "NONE" -> new NoneCodec(columns);
          case "AVRO" -> new AvroCodec(columns, wrapped(properties, columns), properties);
          case "JSON_SR" -> new JsonSchemaCodec(columns, wrapped(properties, columns), properties);
          case "PROTOBUF" -> new ProtobufCodec(columns, true, properties);
          case "PROTOBUF_NOSR" -> new ProtobufCodec(columns, false, properties);
          default -> throw new IllegalArgumentException("unknown format: " + format);
        };
    String window = properties.get("window");
    return window == null ? plain : WindowedKeyCodec.of(plain, window, properties);
  }

  /**
   * The reader of a change format. Properties in addition to those of the registry: {@code
   * timestamp.precision}, {@code time.precision}, {@code decimal.mode}.
   *
   * @param columns of a row of the database's table
   * @param source the type of the fields of a change's source; null: not read
   */
  static ChangeReader changes(
      String format, Map<String, String> properties, StructType columns, StructType source) {
    return switch (format) {
      case "DEBEZIUM_JSON" -> new DebeziumJson(columns, source, properties);
      case "DEBEZIUM_AVRO" -> new DebeziumAvro(columns, source, properties);
      case "MAXWELL_JSON" -> new MaxwellJson(columns, source);
      case "CANAL_JSON" -> new CanalJson(columns, source);
      default -> throw new IllegalArgumentException("not a change format: " + format);
    };
  }

  /** The schema that Python passes as JSON. */
  static StructType schema(String json) {
    return (StructType) DataType.fromJson(json);
  }

  private static boolean wrapped(Map<String, String> properties, StructType columns) {
    return columns.length() != 1 || !"false".equals(properties.get("wrap"));
  }

  private static char delimiter(Map<String, String> properties) {
    String text = properties.getOrDefault("delimiter", ",");
    if (text.length() != 1) {
      throw new IllegalArgumentException("delimiter must be one character, not '" + text + "'");
    }
    return text.charAt(0);
  }
}
