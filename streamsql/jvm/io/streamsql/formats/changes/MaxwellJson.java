package io.streamsql.formats.changes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.formats.Json;
import io.streamsql.formats.RecordException;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/**
 * Maxwell's MySQL changes: {@code type}, the row as {@code data}, and for an update the replaced
 * values as {@code old}. Messages without a row (bootstrap bounds, DDL) are skipped.
 */
public final class MaxwellJson extends JsonChanges {
  private static final long serialVersionUID = 1L;

  public MaxwellJson(StructType columns, StructType source) {
    super(columns, source, ReadOptions.printed(false));
  }

  @Override
  protected void changes(JsonNode record, List<Change> out) throws RecordException {
    String op =
        switch (record.path("type").asText()) {
          case "insert" -> "c";
          case "bootstrap-insert" -> "r";
          case "update" -> "u";
          case "delete" -> "d";
          case "" -> throw new RecordException("not a Maxwell message: it lacks type");
          default -> null;
        };
    if (op != null) {
      JsonNode seconds = record.path("ts");
      Long time = seconds.isIntegralNumber() ? seconds.longValue() * 1000 : null;
      out.add(
          PrintedRows.change(image, op, row(record), record.path("old"), sourceOf(record), time));
    }
  }

  private static JsonNode row(JsonNode record) throws RecordException {
    if (!record.path("data").isObject()) {
      throw new RecordException("not a Maxwell message: it lacks data");
    }
    return record.path("data");
  }

  private Object sourceOf(JsonNode record) throws RecordException {
    return source(PrintedRows.source(record));
  }

  /** Its members are {@code database}, {@code table} and {@code pk.COLUMN}. */
  @Override
  public Object[] key(byte[] key) throws RecordException {
    ObjectNode columns = Json.TREES.createObjectNode();
    tree(key)
        .properties()
        .forEach(
            member -> {
              if (member.getKey().startsWith("pk.")) {
                columns.set(member.getKey().substring("pk.".length()), member.getValue());
              }
            });
    return image.read(columns, image.none());
  }
}
