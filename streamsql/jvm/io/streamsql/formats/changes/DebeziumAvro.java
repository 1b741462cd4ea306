package io.streamsql.formats.changes;

import io.streamsql.formats.RecordException;
import io.streamsql.formats.avro.AvroCodec;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Debezium's changes in Avro: the same envelope as a record, with its schema in a registry. */
public final class DebeziumAvro implements ChangeReader {
  private static final long serialVersionUID = 1L;
  private final AvroCodec envelope;
  private final AvroCodec row;
  private final boolean sourced;

  public DebeziumAvro(StructType columns, StructType source, Map<String, String> properties) {
    StructType fields =
        new StructType()
            .add("op", DataTypes.StringType)
            .add("before", columns)
            .add("after", columns)
            .add("ts_ms", DataTypes.LongType);
    sourced = source != null;
    envelope = new AvroCodec(sourced ? fields.add("source", source) : fields, true, properties);
    row = new AvroCodec(columns, true, properties);
  }

  @Override
  public boolean read(byte[] value, List<Change> out) throws RecordException {
    Object[] fields = new Object[envelope.width()];
    if (!envelope.decode(value, fields, 0)) {
      return false;
    }
    if (!(fields[0] instanceof UTF8String op)) {
      throw new RecordException(
          "not a Debezium change: it lacks op (read flattened changes as AVRO)");
    }
    Object source = sourced ? fields[4] : null;
    out.add(new Change(op.toString(), row(fields[1]), row(fields[2]), source, (Long) fields[3]));
    return true;
  }

  private static Object[] row(Object struct) {
    return struct == null ? null : ((GenericInternalRow) struct).values();
  }

  @Override
  public Object[] key(byte[] key) throws RecordException {
    Object[] columns = new Object[row.width()];
    row.decode(key, columns, 0);
    return columns;
  }
}
