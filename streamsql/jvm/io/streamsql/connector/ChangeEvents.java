package io.streamsql.connector;

import io.streamsql.formats.changes.Change;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A database's changes as a stream: one row per change, with those of the columns OP, BEFORE,
 * AFTER, SOURCE and TS_MS that the source declares. The key's columns come from the row after the
 * change or, if there is none, from the row before it. Tombstones are ignored.
 */
final class ChangeEvents implements ChangeDecoder.Rows {
  private static final long serialVersionUID = 1L;
  private final StructType values;

  /** The columns of BEFORE and AFTER, followed by the key's columns that are not among them. */
  private final StructType image;

  private final int[] keys;
  private final int width;

  ChangeEvents(StructType keys, StructType values) {
    this.values = values;
    StructType columns = new StructType();
    for (StructField field : values.fields()) {
      if (isRow(field)) {
        columns = (StructType) field.dataType();
      }
    }
    this.width = columns.length();
    this.keys = new int[keys.length()];
    for (int i = 0; i < this.keys.length; i++) {
      StructField key = keys.fields()[i];
      int position = Arrays.asList(columns.fieldNames()).indexOf(key.name());
      this.keys[i] = position < 0 ? columns.length() : position;
      columns = position < 0 ? columns.add(key) : columns;
    }
    this.image = columns;
  }

  private static String name(StructField field) {
    return field.name().toUpperCase(Locale.ROOT);
  }

  private static boolean isRow(StructField field) {
    return name(field).equals("BEFORE") || name(field).equals("AFTER");
  }

  /** The columns that are read of the database's rows. */
  StructType image() {
    return image;
  }

  /** The fields that are read of a change's source; null: none. */
  StructType source() {
    return Arrays.stream(values.fields())
        .filter(field -> name(field).equals("SOURCE"))
        .map(field -> (StructType) field.dataType())
        .findFirst()
        .orElse(null);
  }

  @Override
  public List<Object[]> of(List<Change> changes, byte[] key) {
    List<Object[]> rows = new ArrayList<>(changes.size());
    for (Change change : changes) {
      Object[] row = new Object[keys.length + values.length() + 1];
      Object[] image = change.after() != null ? change.after() : change.before();
      for (int i = 0; i < keys.length && image != null; i++) {
        row[i] = image[keys[i]];
      }
      for (int i = 0; i < values.length(); i++) {
        row[keys.length + i] = value(change, name(values.fields()[i]));
      }
      row[row.length - 1] = false;
      rows.add(row);
    }
    return rows;
  }

  private Object value(Change change, String column) {
    return switch (column) {
      case "OP" -> UTF8String.fromString(change.op());
      case "BEFORE" -> struct(change.before());
      case "AFTER" -> struct(change.after());
      case "SOURCE" -> change.source();
      case "TS_MS" -> change.time();
      default -> throw new IllegalArgumentException("no column of changes: " + column);
    };
  }

  private Object struct(Object[] row) {
    return row == null ? null : new GenericInternalRow(Arrays.copyOf(row, width));
  }

  @Override
  public List<Object[]> ofTombstone(byte[] key) {
    return List.of();
  }
}
