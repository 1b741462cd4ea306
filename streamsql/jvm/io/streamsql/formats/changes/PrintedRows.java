package io.streamsql.formats.changes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.formats.Json;
import io.streamsql.formats.RecordException;
import java.util.List;

/** The common part of Maxwell and Canal: a row, and for an update the replaced values. */
final class PrintedRows {
  private PrintedRows() {}

  static Change change(
      RowImage image, String op, JsonNode row, JsonNode old, Object source, Long time)
      throws RecordException {
    Object[] values = image.read(row, image.none());
    return switch (op) {
      case "d" -> new Change(op, values, null, source, time);
      case "u" -> new Change(op, before(image, row, old), values, source, time);
      default -> new Change(op, null, values, source, time);
    };
  }

  /** The row before an update. */
  private static Object[] before(RowImage image, JsonNode row, JsonNode old)
      throws RecordException {
    if (!old.isObject() || !row.isObject()) {
      return null;
    }
    ObjectNode before = Json.TREES.createObjectNode();
    before.setAll((ObjectNode) row);
    before.setAll((ObjectNode) old);
    return image.read(before, image.none());
  }

  /** A record without its rows; {@code db} is Debezium's name for the database. */
  static JsonNode source(JsonNode record) {
    ObjectNode source = Json.TREES.createObjectNode();
    source.setAll((ObjectNode) record);
    source.remove(List.of("data", "old"));
    source.set("db", record.path("database").isMissingNode() ? null : record.path("database"));
    return source;
  }
}
