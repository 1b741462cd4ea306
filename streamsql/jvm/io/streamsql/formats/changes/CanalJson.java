package io.streamsql.formats.changes;

import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.formats.RecordException;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/**
 * Canal's MySQL changes, flat messages: all rows of a statement as {@code data}, their values as
 * text, and for an update the replaced values of each as {@code old}. Messages without rows are
 * skipped.
 */
public final class CanalJson extends JsonChanges {
  private static final long serialVersionUID = 1L;

  public CanalJson(StructType columns, StructType source) {
    super(columns, source, ReadOptions.printed(true));
  }

  @Override
  protected void changes(JsonNode record, List<Change> out) throws RecordException {
    String op =
        switch (record.path("type").asText()) {
          case "INSERT" -> "c";
          case "UPDATE" -> "u";
          case "DELETE" -> "d";
          case "TRUNCATE" -> "t";
          case "" -> throw new RecordException("not a Canal message: it lacks type");
          default -> null;
        };
    if (op == null) {
      return;
    }
    Object source = source(PrintedRows.source(record));
    Long time = time(record.path("ts"));
    if (op.equals("t")) {
      out.add(new Change(op, null, null, source, time));
      return;
    }
    JsonNode rows = record.path("data");
    if (!rows.isArray()) {
      throw new RecordException("not a Canal message: it lacks data");
    }
    for (int i = 0; i < rows.size(); i++) {
      JsonNode old = record.path("old").path(i);
      out.add(PrintedRows.change(image, op, rows.get(i), old, source, time));
    }
  }
}
