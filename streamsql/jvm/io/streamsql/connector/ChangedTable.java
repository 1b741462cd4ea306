package io.streamsql.connector;

import io.streamsql.formats.RecordException;
import io.streamsql.formats.changes.Change;
import io.streamsql.formats.changes.ChangeReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A database's table as a table: the last row of each key in a record, or its deletion. The key is
 * read from the rows. A deletion without key columns and a tombstone take it from the record's key.
 * Of the rows before a change only the keys are needed.
 */
final class ChangedTable implements ChangeDecoder.Rows {
  private static final long serialVersionUID = 1L;

  /** The placeholder for a large PostgreSQL value that has not changed and is not in the log. */
  private static final UTF8String UNCHANGED = UTF8String.fromString("__debezium_unavailable_value");

  private static final byte[] UNCHANGED_BYTES =
      "__debezium_unavailable_value".getBytes(StandardCharsets.UTF_8);

  private final ChangeReader reader;
  private final StructType columns;
  private final int keys;
  private final boolean keepsPlaceholders;

  /**
   * @param columns the key's, followed by the value's
   * @param keepsPlaceholders whether a later operator resolves the placeholders
   */
  ChangedTable(
      ChangeReader reader, StructType keys, StructType columns, boolean keepsPlaceholders) {
    this.keepsPlaceholders = keepsPlaceholders;
    this.reader = reader;
    this.keys = keys.length();
    this.columns = columns;
  }

  @Override
  public List<Object[]> of(List<Change> changes, byte[] recordKey) throws RecordException {
    Map<List<Object>, Object[]> rows = new LinkedHashMap<>();
    for (Change change : changes) {
      switch (change.op()) {
        case "c", "r", "u" -> upsert(change, rows);
        case "d" -> put(rows, deletion(deleted(change, recordKey)));
        case "t" ->
            throw new RecordException(
                "the table was truncated in the database; its rows stay, since the record does not"
                    + " list them");
        default -> throw new RecordException("not a change of a row: op '" + change.op() + "'");
      }
    }
    return new ArrayList<>(rows.values());
  }

  @Override
  public List<Object[]> ofTombstone(byte[] recordKey) {
    Object[] key = named(recordKey);
    return key == null ? List.of() : List.<Object[]>of(deletion(key));
  }

  private void upsert(Change change, Map<List<Object>, Object[]> rows) throws RecordException {
    Object[] after = change.after();
    Object[] before = change.before();
    if (after == null) {
      throw new RecordException("op '" + change.op() + "' lacks the row after it");
    }
    Object[] row = Arrays.copyOf(after, columns.length() + 1);
    for (int i = 0; i < columns.length(); i++) {
      if (isUnchanged(row[i])) {
        Object previous = before == null ? null : before[i];
        if (previous != null && !isUnchanged(previous)) {
          row[i] = previous;
        } else if (i < keys || !keepsPlaceholders) {
          throw unavailable(i);
        }
      }
    }
    requireKey(row, "after");
    row[columns.length()] = false;
    if (hasKey(before)) {
      Object[] old = deletion(before);
      if (!key(old).equals(key(row))) {
        put(rows, old);
      }
    }
    put(rows, row);
  }

  private RecordException unavailable(int column) {
    return new RecordException(
            "the unchanged value is not in the database's log: ALTER TABLE .. REPLICA IDENTITY"
                + " FULL adds it to the log, UNAVAILABLE_VALUES='KEEP' keeps the previous value")
        .in(".after." + columns.fields()[column].name());
  }

  private static boolean isUnchanged(Object value) {
    if (value instanceof GenericArrayData array) {
      return array.numElements() == 1 && isUnchanged(array.array()[0]);
    }
    return UNCHANGED.equals(value)
        || (value instanceof byte[] bytes && Arrays.equals(bytes, UNCHANGED_BYTES));
  }

  /** The deleted row: at least its key. */
  private Object[] deleted(Change change, byte[] recordKey) throws RecordException {
    Object[] row = hasKey(change.before()) ? change.before() : named(recordKey);
    if (row == null) {
      row = change.before() == null ? new Object[keys] : change.before();
      requireKey(row, "before");
    }
    return row;
  }

  /** The key that a record's key holds, if it has all columns of the source's key. */
  private Object[] named(byte[] recordKey) {
    if (recordKey == null) {
      return null;
    }
    try {
      Object[] found = reader.key(recordKey);
      return hasKey(found) ? found : null;
    } catch (RecordException e) {
      return null; // a key in another form; the deletion before the tombstone was applied
    }
  }

  private boolean hasKey(Object[] row) {
    if (row == null) {
      return false;
    }
    for (int i = 0; i < keys; i++) {
      if (row[i] == null) {
        return false;
      }
    }
    return true;
  }

  private void requireKey(Object[] row, String image) throws RecordException {
    for (int i = 0; i < keys; i++) {
      if (row[i] == null) {
        throw new RecordException("a part of the primary key is null or missing")
            .in("." + image + "." + columns.fields()[i].name());
      }
    }
  }

  private Object[] deletion(Object[] row) {
    Object[] fields = new Object[columns.length() + 1];
    System.arraycopy(row, 0, fields, 0, keys);
    fields[columns.length()] = true;
    return fields;
  }

  /** Later changes of a key replace earlier ones and come last. */
  private void put(Map<List<Object>, Object[]> rows, Object[] row) {
    List<Object> key = key(row);
    rows.remove(key);
    rows.put(key, row);
  }

  /** A key's columns as a value that supports equality. */
  private List<Object> key(Object[] row) {
    List<Object> values = new ArrayList<>(keys);
    for (int i = 0; i < keys; i++) {
      values.add(row[i] instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : row[i]);
    }
    return values;
  }
}
