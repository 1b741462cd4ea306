package io.streamsql.formats.changes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.streamsql.formats.RecordException;
import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A row of a database as a JSON object. A column is the field of exactly that name or, if there is
 * none, one that equals it in upper case: names that were not quoted in SQL are upper case.
 */
final class RowImage implements Serializable {
  private static final long serialVersionUID = 1L;
  private final ColumnReader[] readers;
  private final Map<String, Integer> positions = new HashMap<>();

  RowImage(StructType columns, ReadOptions options) {
    StructField[] fields = columns.fields();
    readers = new ColumnReader[fields.length];
    for (int i = 0; i < fields.length; i++) {
      readers[i] = new ColumnReader(fields[i], options);
      positions.put(fields[i].name(), i);
    }
  }

  /** The member of each column; null if it has none. */
  JsonNode[] members(JsonNode object) {
    JsonNode[] found = new JsonNode[readers.length];
    boolean[] exact = new boolean[readers.length];
    for (Map.Entry<String, JsonNode> member : object.properties()) {
      Integer own = positions.get(member.getKey());
      Integer position =
          own != null ? own : positions.get(member.getKey().toUpperCase(Locale.ROOT));
      if (position != null && (own != null || !exact[position])) {
        found[position] = member.getValue();
        exact[position] |= own != null;
      }
    }
    return found;
  }

  /** The schemas of a row's columns, from Kafka Connect's schema of the row. */
  JsonNode[] schemas(JsonNode struct) {
    JsonNode[] found = none();
    for (JsonNode field : struct.path("fields")) {
      String name = field.path("field").asText();
      Integer own = positions.get(name);
      Integer position = own != null ? own : positions.get(name.toUpperCase(Locale.ROOT));
      if (position != null && (own != null || found[position].isMissingNode())) {
        found[position] = field;
      }
    }
    return found;
  }

  /** For rows without schemas. */
  JsonNode[] none() {
    JsonNode[] none = new JsonNode[readers.length];
    Arrays.fill(none, MissingNode.getInstance());
    return none;
  }

  /** The values; null for a missing row. */
  Object[] read(JsonNode row, JsonNode[] schemas) throws RecordException {
    return row.isObject() ? values(members(row), schemas) : null;
  }

  Object[] values(JsonNode[] members, JsonNode[] schemas) throws RecordException {
    Object[] values = new Object[readers.length];
    for (int i = 0; i < values.length; i++) {
      if (members[i] != null) {
        values[i] = readers[i].read(members[i], schemas[i]);
      }
    }
    return values;
  }
}
