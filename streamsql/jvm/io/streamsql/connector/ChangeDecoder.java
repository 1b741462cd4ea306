package io.streamsql.connector;

import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.formats.RecordException;
import io.streamsql.formats.changes.Change;
import io.streamsql.formats.changes.ChangeReader;
import io.streamsql.monitoring.CurrentRecord;
import io.streamsql.monitoring.ProcessingLog;
import io.streamsql.monitoring.QueryMetrics;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Decodes a record of a change data capture topic into rows like those of {@link RecordDecoder}.
 * For a table: the new row of each key, or its deletion ({@link ChangedTable}). For a stream: a row
 * per change ({@link ChangeEvents}).
 *
 * <p>A record that cannot be read is reported to the processing log and gives no rows. Without a
 * log it fails the query.
 */
public final class ChangeDecoder implements Serializable {
  private static final long serialVersionUID = 1L;

  /** How a source interprets changes. */
  interface Rows extends Serializable {
    /** The fields of the rows that the changes of one record give. */
    List<Object[]> of(List<Change> changes, byte[] key) throws RecordException;

    /** The fields of the rows of a record without a value. */
    List<Object[]> ofTombstone(byte[] key);
  }

  private final ChangeReader reader;
  private final Rows rows;
  private final StructType rowType;
  private final boolean stopsAtTruncate;
  private final ProcessingLog log;
  private final String queryId;
  private final String step;

  private ChangeDecoder(
      ChangeReader reader,
      Rows rows,
      StructType rowType,
      boolean stopsAtTruncate,
      ProcessingLog log,
      String step) {
    this.reader = reader;
    this.rows = rows;
    this.rowType = rowType;
    this.stopsAtTruncate = stopsAtTruncate;
    this.log = log;
    this.queryId = log == null ? "" : log.queryId();
    this.step = step;
  }

  /**
   * The decoder of a change topic.
   *
   * @param keySchema the key's columns, read from the rows, as Spark's JSON of a struct
   * @param table whether the source is a table
   * @param stopsAtTruncate whether a truncation of the table fails the query
   * @param log and {@code step}: see {@link RecordDecoder#of}
   */
  public static ChangeDecoder of(
      String format,
      Map<String, String> properties,
      String keySchema,
      String valueSchema,
      boolean table,
      boolean stopsAtTruncate,
      ProcessingLog log,
      String step) {
    StructType keys = Codecs.schema(keySchema);
    StructType values = Codecs.schema(valueSchema);
    StructType row = new StructType();
    for (StructType side : List.of(keys, values)) {
      for (StructField field : side.fields()) {
        row = row.add(field);
      }
    }
    ChangeReader reader;
    Rows rows;
    if (table) {
      reader = Codecs.changes(format, properties, row, null);
      rows =
          new ChangedTable(reader, keys, row, "KEEP".equals(properties.get("unavailable.values")));
    } else {
      ChangeEvents events = new ChangeEvents(keys, values);
      reader = Codecs.changes(format, properties, events.image(), events.source());
      rows = events;
    }
    row = row.add(RecordDecoder.NULL_VALUE, DataTypes.BooleanType, false);
    return new ChangeDecoder(reader, rows, row, stopsAtTruncate && table, log, step);
  }

  /** The type of {@link #decode}'s result: an array of rows. */
  public ArrayType rowsType() {
    return DataTypes.createArrayType(rowType, false);
  }

  /** The rows in order; none for a record that cannot be read. */
  public ArrayData decode(byte[] key, byte[] value, UTF8String topic, int partition, long offset) {
    CurrentRecord.set(queryId, topic, partition, offset, key, value);
    List<Change> changes = new ArrayList<>(1);
    try {
      boolean present = value != null && reader.read(value, changes);
      return array(present ? rows.of(changes, key) : rows.ofTombstone(key));
    } catch (RecordException e) {
      if (stopsAtTruncate && changes.stream().anyMatch(change -> change.op().equals("t"))) {
        throw stopped(e, value);
      }
      UnreadableRecords.report(log, step, "value", e, value);
      return array(List.of());
    }
  }

  /** Logged once, not for every retry. */
  private CodedException stopped(RecordException truncated, byte[] value) {
    CurrentRecord at = CurrentRecord.get();
    String place =
        "topic " + at.topic() + ", partition " + at.partition() + ", offset " + at.offset();
    if (QueryMetrics.of(queryId).isNewTruncation(place)) {
      UnreadableRecords.report(log, step, "value", truncated, value);
    }
    return new CodedException(
        ErrorCode.TABLE_TRUNCATED,
        truncated.getMessage()
            + ", says the record at "
            + place
            + ". To continue with them, SET 'streamsql.on.truncate' = 'continue' and RESUME the"
            + " query");
  }

  private static ArrayData array(List<Object[]> rows) {
    return new GenericArrayData(rows.stream().map(GenericInternalRow::new).toArray());
  }

  @Override
  public String toString() {
    return "changes";
  }
}
