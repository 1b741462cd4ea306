package io.streamsql.connector;

import io.streamsql.formats.Codec;
import io.streamsql.formats.RecordException;
import io.streamsql.monitoring.CurrentRecord;
import io.streamsql.monitoring.ProcessingLog;
import java.io.Serializable;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Decodes a Kafka record into one row: the key's columns, the value's columns, for windowed keys
 * WINDOWSTART and WINDOWEND, and last {@value #NULL_VALUE}, true if the record has no value (a
 * tombstone).
 *
 * <p>A record that its formats cannot read is reported to the processing log and gives null, which
 * the query filters out. Without a log it fails the query.
 */
public final class RecordDecoder implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The column that distinguishes a null value from a value of nulls. */
  public static final String NULL_VALUE = "$null_value";

  private final Codec key;
  private final Codec value;
  private final boolean windowed;
  private final StructType rowType;
  private final ProcessingLog log;
  private final String queryId;
  private final String step;

  private RecordDecoder(
      Codec key,
      Codec value,
      StructType rowType,
      boolean windowed,
      ProcessingLog log,
      String step) {
    this.key = key;
    this.value = value;
    this.rowType = rowType;
    this.windowed = windowed;
    this.log = log;
    this.queryId = log == null ? "" : log.queryId();
    this.step = step;
  }

  /**
   * The decoder of a topic's records.
   *
   * @param keySchema the key's columns as Spark's JSON of a struct; {@code keyProperties} as in
   *     {@link Codecs}
   * @param log may be null: then a record that cannot be read fails the query
   * @param step names the place in the query for the log's {@code logger}
   */
  public static RecordDecoder of(
      String keyFormat,
      Map<String, String> keyProperties,
      String keySchema,
      String valueFormat,
      Map<String, String> valueProperties,
      String valueSchema,
      ProcessingLog log,
      String step) {
    StructType keys = Codecs.schema(keySchema);
    StructType values = Codecs.schema(valueSchema);
    boolean windowed = keyProperties.containsKey("window");
    StructType row = new StructType();
    for (StructField field : keys.fields()) {
      row = row.add(field);
    }
    for (StructField field : values.fields()) {
      row = row.add(field);
    }
    if (windowed) {
      row = row.add("WINDOWSTART", DataTypes.LongType).add("WINDOWEND", DataTypes.LongType);
    }
    row = row.add(NULL_VALUE, DataTypes.BooleanType, false);
    return new RecordDecoder(
        Codecs.of(keyFormat, keyProperties, keys),
        Codecs.of(valueFormat, valueProperties, values),
        row,
        windowed,
        log,
        step);
  }

  /** The type of {@link #decode}'s row. */
  public StructType rowType() {
    return rowType;
  }

  /** The row, or null for a record that cannot be read. */
  public InternalRow decode(
      byte[] keyBytes, byte[] valueBytes, UTF8String topic, int partition, long offset) {
    CurrentRecord.set(queryId, topic, partition, offset, keyBytes, valueBytes);
    Object[] fields = new Object[rowType.length()];
    String target = "key";
    try {
      if (keyBytes != null) {
        decodeKey(keyBytes, fields);
      }
      target = "value";
      int at = key.width() - (windowed ? 2 : 0);
      boolean present = valueBytes != null && value.decode(valueBytes, fields, at);
      fields[fields.length - 1] = !present;
      return new GenericInternalRow(fields);
    } catch (RecordException e) {
      byte[] record = target.equals("key") ? keyBytes : valueBytes;
      UnreadableRecords.report(log, step, target, e, record);
      return null;
    }
  }

  /** The window's bounds follow the key's columns in the key and the value's columns in the row. */
  private void decodeKey(byte[] bytes, Object[] fields) throws RecordException {
    if (!windowed) {
      key.decode(bytes, fields, 0);
      return;
    }
    Object[] keyFields = new Object[key.width()];
    key.decode(bytes, keyFields, 0);
    int own = keyFields.length - 2;
    System.arraycopy(keyFields, 0, fields, 0, own);
    System.arraycopy(keyFields, own, fields, fields.length - 3, 2);
  }

  @Override
  public String toString() {
    return "decoder";
  }
}
