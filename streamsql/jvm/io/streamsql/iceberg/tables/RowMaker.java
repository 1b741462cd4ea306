package io.streamsql.iceberg.tables;

import io.streamsql.formats.SqlTime;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.ByteBuffers;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** Makes Spark's rows of records; the columns of a record may have narrower types. */
final class RowMaker {
  private static final int MILLIS = 1_000;

  /** Converts a value, which is not null. */
  private interface Value {
    Object of(Object value);
  }

  private final int[] places;
  private final Value[] values;

  /** IllegalArgumentException names the column that the records do not have, or not so. */
  RowMaker(StructType columns, Schema records) {
    this(columns, records.asStruct(), "");
  }

  private RowMaker(StructType columns, Types.StructType records, String path) {
    StructField[] fields = columns.fields();
    this.places = new int[fields.length];
    this.values = new Value[fields.length];
    for (int i = 0; i < fields.length; i++) {
      String name = path + fields[i].name();
      NestedField field = field(fields[i].name(), records, name);
      places[i] = records.fields().indexOf(field);
      values[i] = value(fields[i].dataType(), SqlTime.declared(fields[i]), field.type(), name);
    }
  }

  /** The columns of the schema that make the rows. */
  static Schema projection(StructType columns, Schema schema) {
    List<NestedField> found = new ArrayList<>();
    for (StructField column : columns.fields()) {
      found.add(field(column.name(), schema.asStruct(), column.name()));
    }
    Schema projection = new Schema(found);
    new RowMaker(columns, projection);
    return projection;
  }

  /** By its name, else by its name in other letters. */
  static NestedField field(String name, Types.StructType records, String path) {
    NestedField exact = records.field(name);
    if (exact != null) {
      return exact;
    }
    List<NestedField> found =
        records.fields().stream().filter(field -> field.name().equalsIgnoreCase(name)).toList();
    if (found.size() > 1) {
      throw new IllegalArgumentException("the table has several columns " + path);
    }
    if (found.isEmpty()) {
      throw new IllegalArgumentException("the table has no column " + path);
    }
    return found.get(0);
  }

  InternalRow row(StructLike record) {
    Object[] made = new Object[places.length];
    for (int i = 0; i < places.length; i++) {
      Object value = record.get(places[i], Object.class);
      made[i] = value == null ? null : values[i].of(value);
    }
    return new GenericInternalRow(made);
  }

  // -- values ------------------------------------------------------------------------------------

  private static Value value(DataType to, String declared, Type from, String path) {
    Value found =
        from.isPrimitiveType()
            ? simple(to, SqlTime.isTime(declared), from)
            : nested(to, declared, from, path);
    if (found == null) {
      String type = declared.isEmpty() ? to.sql() : declared;
      throw new IllegalArgumentException(
          "the column %s of the table is %s, which is not read as %s".formatted(path, from, type));
    }
    return found;
  }

  private static Value simple(DataType to, boolean time, Type from) {
    if (time) {
      return from.typeId() == Type.TypeID.TIME
          ? v -> ((LocalTime) v).toNanoOfDay() / 1_000_000
          : null;
    }
    return switch (from.typeId()) {
      case BOOLEAN -> to instanceof BooleanType ? v -> v : null;
      case INTEGER, LONG -> whole(to, from);
      case FLOAT, DOUBLE -> to instanceof DoubleType ? v -> ((Number) v).doubleValue() : null;
      case DECIMAL ->
          to instanceof DecimalType type ? decimal(type, (Types.DecimalType) from) : null;
      case STRING, UUID ->
          to instanceof StringType ? v -> UTF8String.fromString(v.toString()) : null;
      case DATE ->
          to instanceof DateType ? v -> Math.toIntExact(((LocalDate) v).toEpochDay()) : null;
      case TIMESTAMP, TIMESTAMP_NANO -> to instanceof TimestampType ? RowMaker::micros : null;
      case BINARY, FIXED ->
          to instanceof BinaryType
              ? v -> v instanceof ByteBuffer bytes ? ByteBuffers.toByteArray(bytes) : v
              : null;
      default -> null;
    };
  }

  private static Value whole(DataType to, Type from) {
    if (to instanceof LongType) {
      return v -> ((Number) v).longValue();
    }
    return to instanceof IntegerType && from.typeId() == Type.TypeID.INTEGER ? v -> v : null;
  }

  /** A time without a zone is in UTC. Times have milliseconds. */
  private static Object micros(Object value) {
    Instant time =
        value instanceof OffsetDateTime zoned
            ? zoned.toInstant()
            : ((LocalDateTime) value).toInstant(ZoneOffset.UTC);
    return Math.multiplyExact(time.toEpochMilli(), MILLIS);
  }

  private static Value decimal(DecimalType to, Types.DecimalType from) {
    boolean fits =
        from.scale() <= to.scale()
            && from.precision() - from.scale() <= to.precision() - to.scale();
    return fits ? v -> Decimal.apply((BigDecimal) v, to.precision(), to.scale()) : null;
  }

  private static Value nested(DataType to, String declared, Type from, String path) {
    String element = SqlTime.element(declared);
    if (to instanceof ArrayType array && from.isListType()) {
      Value value =
          value(array.elementType(), element, from.asListType().elementType(), path + ".element");
      return v -> elements((List<?>) v, value);
    }
    if (to instanceof MapType map && from.isMapType()) {
      Value key = value(map.keyType(), "", from.asMapType().keyType(), path + ".key");
      Value value = value(map.valueType(), element, from.asMapType().valueType(), path + ".value");
      return v -> {
        List<Map.Entry<?, ?>> entries = new ArrayList<>(((Map<?, ?>) v).entrySet());
        return new ArrayBasedMapData(
            elements(entries.stream().map(Map.Entry::getKey).toList(), key),
            elements(values(entries), value));
      };
    }
    if (to instanceof StructType struct && from.isStructType()) {
      RowMaker maker = new RowMaker(struct, from.asStructType(), path + ".");
      return v -> maker.row((StructLike) v);
    }
    return null;
  }

  private static List<Object> values(List<Map.Entry<?, ?>> entries) {
    List<Object> found = new ArrayList<>(entries.size());
    entries.forEach(entry -> found.add(entry.getValue()));
    return found;
  }

  private static GenericArrayData elements(List<?> list, Value value) {
    Object[] made = new Object[list.size()];
    for (int i = 0; i < made.length; i++) {
      Object each = list.get(i);
      made[i] = each == null ? null : value.of(each);
    }
    return new GenericArrayData(made);
  }
}
