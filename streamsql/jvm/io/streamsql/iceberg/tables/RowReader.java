package io.streamsql.iceberg.tables;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;

/**
 * Reads Spark's rows as records of the table, in Iceberg's internal form of values. The table may
 * have wider types than the rows, and further columns, which are null.
 */
final class RowReader {
  /** A value that a column of the table cannot hold. */
  static final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Refused(String message) {
      super(message, null, false, false);
    }
  }

  /** A value of a row or an array, which is not null. */
  private interface Value {
    Object of(SpecializedGetters row, int at);
  }

  private final Types.StructType struct;
  private final Struct columns;

  /** IllegalArgumentException names the column that cannot hold its values. */
  RowReader(Schema rows, Schema table) {
    this.struct = table.asStruct();
    this.columns = new Struct(rows.asStruct(), struct, "");
  }

  GenericRecord record(InternalRow row) {
    return columns.record(row);
  }

  /** A row of which only the key is known: its other columns are null, required or not. */
  GenericRecord key(InternalRow row, List<String> keys) {
    GenericRecord record = GenericRecord.create(struct);
    for (String key : keys) {
      columns.set(record, row, struct.fields().indexOf(struct.field(key)));
    }
    return record;
  }

  /** The fields of a struct, by their places in the table. */
  private static final class Struct {
    private final Types.StructType there;
    private final int size;
    private final int[] places;
    private final Value[] values;
    private final String path;

    Struct(Types.StructType here, Types.StructType there, String path) {
      this.there = there;
      this.size = here.fields().size();
      this.path = path;
      int count = there.fields().size();
      this.places = new int[count];
      this.values = new Value[count];
      for (int i = 0; i < count; i++) {
        NestedField field = there.fields().get(i);
        NestedField from = here.field(field.name());
        places[i] = from == null ? -1 : here.fields().indexOf(from);
        values[i] = from == null ? null : value(from.type(), field.type(), path + field.name());
      }
      for (NestedField field : here.fields()) {
        if (there.field(field.name()) == null) {
          throw new IllegalArgumentException("it has no column " + path + field.name());
        }
      }
    }

    GenericRecord record(InternalRow row) {
      GenericRecord record = GenericRecord.create(there);
      for (int i = 0; i < places.length; i++) {
        set(record, row, i);
      }
      return record;
    }

    void set(GenericRecord record, InternalRow row, int at) {
      int place = places[at];
      Object value = place < 0 || row.isNullAt(place) ? null : values[at].of(row, place);
      NestedField field = there.fields().get(at);
      if (value == null && field.isRequired()) {
        throw new Refused("the column " + path + field.name() + " must not be null");
      }
      record.set(at, value);
    }
  }

  private static Value value(Type here, Type there, String path) {
    boolean fits =
        here.isPrimitiveType()
            ? here.equals(there)
                || (there.isPrimitiveType()
                    && TypeUtil.isPromotionAllowed(here, there.asPrimitiveType()))
            : here.typeId() == there.typeId();
    if (!fits) {
      throw new IllegalArgumentException(
          "the column " + path + " is " + there + ", which cannot hold " + here);
    }
    return switch (here.typeId()) {
      case BOOLEAN -> SpecializedGetters::getBoolean;
      case INTEGER ->
          there.typeId() == Type.TypeID.LONG
              ? (row, at) -> (long) row.getInt(at)
              : SpecializedGetters::getInt;
      case DATE -> SpecializedGetters::getInt;
      case LONG, TIMESTAMP -> SpecializedGetters::getLong;
      case TIME -> (row, at) -> row.getLong(at) * 1000; // ms, since Spark has no such type
      case DOUBLE -> SpecializedGetters::getDouble;
      case STRING -> (row, at) -> row.getUTF8String(at).toString();
      case BINARY -> (row, at) -> ByteBuffer.wrap(row.getBinary(at));
      case DECIMAL -> decimal((Types.DecimalType) here);
      case LIST -> list(here.asListType(), there.asListType(), path);
      case MAP -> map(here.asMapType(), there.asMapType(), path);
      case STRUCT -> struct(here.asStructType(), there.asStructType(), path);
      default -> throw new IllegalArgumentException("no type of a column: " + here);
    };
  }

  private static Value decimal(Types.DecimalType type) {
    return (row, at) -> row.getDecimal(at, type.precision(), type.scale()).toJavaBigDecimal();
  }

  private static Value list(Types.ListType here, Types.ListType there, String path) {
    Value element = value(here.elementType(), there.elementType(), path + ".element");
    boolean required = there.isElementRequired();
    return (row, at) -> elements(row.getArray(at), element, required, path);
  }

  private static Value map(Types.MapType here, Types.MapType there, String path) {
    Value key = value(here.keyType(), there.keyType(), path + ".key");
    Value value = value(here.valueType(), there.valueType(), path + ".value");
    boolean required = there.isValueRequired();
    return (row, at) -> {
      MapData found = row.getMap(at);
      List<Object> keys = elements(found.keyArray(), key, true, path);
      List<Object> values = elements(found.valueArray(), value, required, path);
      Map<Object, Object> made = new LinkedHashMap<>();
      for (int i = 0; i < keys.size(); i++) {
        made.put(keys.get(i), values.get(i));
      }
      return made;
    };
  }

  private static Value struct(Types.StructType here, Types.StructType there, String path) {
    Struct found = new Struct(here, there, path + ".");
    return (row, at) -> found.record(row.getStruct(at, found.size));
  }

  private static List<Object> elements(
      ArrayData array, Value element, boolean required, String path) {
    List<Object> made = new ArrayList<>(array.numElements());
    for (int i = 0; i < array.numElements(); i++) {
      Object value = array.isNullAt(i) ? null : element.of(array, i);
      if (value == null && required) {
        throw new Refused("the elements of column " + path + " must not be null");
      }
      made.add(value);
    }
    return made;
  }
}
