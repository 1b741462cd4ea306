package io.streamsql.formats.protobuf;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.WireFormat;
import io.streamsql.formats.FieldNames;
import io.streamsql.formats.TextValues;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Writes a row as a message, straight to its bytes. Null is not written: readers take it for the
 * type's default unless the schema tracks presence. In lists and maps, which cannot omit a value,
 * null becomes the default.
 */
final class ProtobufWriter {
  private final List<Field> fields = new ArrayList<>();

  ProtobufWriter(Descriptor message, StructType struct) {
    List<FieldDescriptor> written = message.getFields();
    int[] positions =
        FieldNames.positions(struct, written.stream().map(FieldDescriptor::getName).toList());
    for (int i = 0; i < positions.length; i++) {
      if (positions[i] >= 0) {
        fields.add(field(written.get(i), struct.fields()[positions[i]], positions[i]));
      }
    }
  }

  void writeFields(SpecializedGetters row, CodedOutputStream out) throws IOException {
    for (Field field : fields) {
      if (!row.isNullAt(field.position())) {
        field.write(row, out);
      }
    }
  }

  private byte[] bytes(InternalRow row) throws IOException {
    return message(out -> writeFields(row, out));
  }

  /** The fields of a message. */
  private interface Body {
    void write(CodedOutputStream out) throws IOException;
  }

  private static byte[] message(Body body) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes, 128);
    body.write(out);
    out.flush();
    return bytes.toByteArray();
  }

  /** The non-null value at {@code i}, as the field's Java type; messages as their bytes. */
  private interface Getter {
    Object get(SpecializedGetters from, int i) throws IOException;
  }

  /** Receives the value of a field's column. */
  private interface Action {
    void write(SpecializedGetters row, int i, CodedOutputStream out) throws IOException;
  }

  private record Field(int position, Action action) {
    void write(SpecializedGetters row, CodedOutputStream out) throws IOException {
      action.write(row, position, out);
    }
  }

  private static Field field(FieldDescriptor field, StructField column, int position) {
    DataType type = column.dataType();
    if (field.isMapField() && type instanceof MapType map) {
      return new Field(position, map(field, map, column.name()));
    } else if (field.isRepeated() && type instanceof ArrayType array) {
      return new Field(
          position, repeated(field, getter(field, array.elementType(), column.name())));
    } else if (field.isRepeated()) {
      throw misfit(field, type, column.name());
    }
    Getter getter = getter(field, type, column.name());
    boolean always = field.hasPresence();
    return new Field(
        position,
        (row, i, out) -> {
          Object value = getter.get(row, i);
          if (always || !isDefault(value)) {
            writeTagged(field, value, out);
          }
        });
  }

  private static IllegalArgumentException misfit(FieldDescriptor f, DataType type, String name) {
    return new IllegalArgumentException(
        "the Protobuf schema has "
            + (f.isRepeated() ? "repeated " : "")
            + f.getType()
            + " for "
            + name
            + ", which cannot hold "
            + type.sql());
  }

  private static Action repeated(FieldDescriptor field, Getter getter) {
    return (row, i, out) -> {
      ArrayData array = row.getArray(i);
      int size = array.numElements();
      if (!field.isPacked()) {
        for (int e = 0; e < size; e++) {
          writeTagged(field, array.isNullAt(e) ? absent(field) : getter.get(array, e), out);
        }
      } else if (size > 0) {
        byte[] packed =
            message(
                inner -> {
                  for (int e = 0; e < size; e++) {
                    writeBare(
                        field, array.isNullAt(e) ? absent(field) : getter.get(array, e), inner);
                  }
                });
        out.writeByteArray(field.getNumber(), packed);
      }
    };
  }

  private static Action map(FieldDescriptor field, MapType type, String name) {
    FieldDescriptor keyField = field.getMessageType().findFieldByNumber(1);
    FieldDescriptor valueField = field.getMessageType().findFieldByNumber(2);
    Getter key = getter(keyField, type.keyType(), name);
    Getter value = getter(valueField, type.valueType(), name);
    return (row, i, out) -> {
      MapData map = row.getMap(i);
      for (int e = 0; e < map.numElements(); e++) {
        int at = e;
        byte[] entry =
            message(
                inner -> {
                  ArrayData values = map.valueArray();
                  writeTagged(keyField, key.get(map.keyArray(), at), inner);
                  if (!values.isNullAt(at)) {
                    writeTagged(valueField, value.get(values, at), inner);
                  }
                });
        out.writeByteArray(field.getNumber(), entry);
      }
    };
  }

  private static Object absent(FieldDescriptor field) {
    return field.getJavaType() == JavaType.MESSAGE ? new byte[0] : field.getDefaultValue();
  }

  private static boolean isDefault(Object value) {
    if (value instanceof Double number) {
      return Double.doubleToRawLongBits(number) == 0;
    } else if (value instanceof byte[] bytes) {
      return bytes.length == 0;
    }
    return value.equals(0)
        || value.equals(0L)
        || value.equals(false)
        || value.equals("")
        || value instanceof Float number && Float.floatToRawIntBits(number) == 0;
  }

  private static void writeTagged(FieldDescriptor field, Object value, CodedOutputStream out)
      throws IOException {
    out.writeTag(field.getNumber(), field.getLiteType().getWireType());
    writeBare(field, value, out);
  }

  private static void writeBare(FieldDescriptor field, Object value, CodedOutputStream out)
      throws IOException {
    switch (field.getType()) {
      case INT32 -> out.writeInt32NoTag((Integer) value);
      case SINT32 -> out.writeSInt32NoTag((Integer) value);
      case SFIXED32 -> out.writeSFixed32NoTag((Integer) value);
      case UINT32 -> out.writeUInt32NoTag((Integer) value);
      case FIXED32 -> out.writeFixed32NoTag((Integer) value);
      case INT64 -> out.writeInt64NoTag((Long) value);
      case SINT64 -> out.writeSInt64NoTag((Long) value);
      case SFIXED64 -> out.writeSFixed64NoTag((Long) value);
      case UINT64 -> out.writeUInt64NoTag((Long) value);
      case FIXED64 -> out.writeFixed64NoTag((Long) value);
      case FLOAT -> out.writeFloatNoTag((Float) value);
      case DOUBLE -> out.writeDoubleNoTag((Double) value);
      case BOOL -> out.writeBoolNoTag((Boolean) value);
      case STRING -> out.writeStringNoTag((String) value);
      case BYTES, MESSAGE -> {
        byte[] bytes = value instanceof byte[] b ? b : new byte[0];
        out.writeByteArrayNoTag(bytes);
      }
      case ENUM ->
          out.writeEnumNoTag(
              value instanceof EnumValueDescriptor e ? e.getNumber() : (Integer) value);
      case GROUP -> throw new IllegalArgumentException("groups are not supported");
    }
  }

  // -- values ------------------------------------------------------------------------------------

  private static Getter getter(FieldDescriptor field, DataType type, String name) {
    Getter found =
        switch (field.getJavaType()) {
          case INT -> integer(type);
          case LONG -> bigint(type);
          case FLOAT -> type instanceof DoubleType ? (from, i) -> (float) from.getDouble(i) : null;
          case DOUBLE -> type instanceof DoubleType ? SpecializedGetters::getDouble : null;
          case BOOLEAN -> type instanceof BooleanType ? SpecializedGetters::getBoolean : null;
          case STRING ->
              type instanceof StringType ? (from, i) -> from.getUTF8String(i).toString() : null;
          case BYTE_STRING -> type instanceof BinaryType ? SpecializedGetters::getBinary : null;
          case ENUM -> type instanceof StringType ? symbol(field) : null;
          case MESSAGE -> messageGetter(field.getMessageType(), type, name);
        };
    if (found == null) {
      throw misfit(field, type, name);
    }
    return found;
  }

  private static Getter integer(DataType type) {
    if (type instanceof IntegerType) {
      return SpecializedGetters::getInt;
    }
    // Columns read from an unsigned 32-bit field are BIGINT; a larger value is an error.
    return type instanceof LongType ? (from, i) -> toUnsignedOrInt(from.getLong(i)) : null;
  }

  private static Integer toUnsignedOrInt(long value) {
    if (value < Integer.MIN_VALUE || value > 0xffffffffL) {
      throw new IllegalArgumentException(value + " does not fit into 32 bits");
    }
    return (int) value;
  }

  private static Getter bigint(DataType type) {
    if (type instanceof LongType) {
      return SpecializedGetters::getLong;
    }
    return type instanceof IntegerType ? (from, i) -> (long) from.getInt(i) : null;
  }

  private static Getter symbol(FieldDescriptor field) {
    return (from, i) -> {
      String text = from.getUTF8String(i).toString();
      EnumValueDescriptor value = field.getEnumType().findValueByName(text);
      if (value == null) {
        throw new IllegalArgumentException(
            "the Protobuf enum "
                + field.getEnumType().getFullName()
                + " has no "
                + TextValues.quoted(text));
      }
      return value.getNumber();
    };
  }

  private static Getter messageGetter(Descriptor message, DataType type, String name) {
    String known = message.getFullName();
    if (type instanceof StructType struct) {
      ProtobufWriter writer = new ProtobufWriter(message, struct);
      return (from, i) -> writer.bytes(from.getStruct(i, struct.length()));
    } else if (known.equals(ProtobufFiles.DECIMAL) && type instanceof DecimalType decimal) {
      return (from, i) -> decimal(from, i, decimal);
    } else if (known.equals(ProtobufFiles.TIMESTAMP) && type instanceof TimestampType) {
      return (from, i) -> {
        long micros = from.getLong(i);
        long nanos = Math.floorMod(micros, 1_000_000L) * 1000L;
        return integers(Math.floorDiv(micros, 1_000_000L), nanos);
      };
    } else if (known.equals(ProtobufFiles.DATE) && type instanceof DateType) {
      return (from, i) -> {
        LocalDate date = LocalDate.ofEpochDay(from.getInt(i));
        return integers(date.getYear(), date.getMonthValue(), date.getDayOfMonth());
      };
    } else if (known.equals(ProtobufFiles.TIME) && type instanceof LongType) {
      return (from, i) -> {
        long ms = from.getLong(i);
        return integers(ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000 * 1_000_000);
      };
    } else if (known.startsWith("google.protobuf.") && known.endsWith("Value")) {
      FieldDescriptor value = message.findFieldByNumber(1);
      Getter inner = getter(value, type, name);
      return (from, i) -> {
        Object unwrapped = inner.get(from, i);
        return isDefault(unwrapped)
            ? new byte[0]
            : message(out -> writeTagged(value, unwrapped, out));
      };
    }
    return null;
  }

  private static byte[] decimal(SpecializedGetters from, int i, DecimalType type)
      throws IOException {
    BigDecimal value = from.getDecimal(i, type.precision(), type.scale()).toJavaBigDecimal();
    return message(
        out -> {
          out.writeByteArray(1, value.unscaledValue().toByteArray());
          out.writeUInt32(2, type.precision());
          if (type.scale() != 0) {
            out.writeInt32(3, type.scale());
          }
        });
  }

  /** A message of integers; zeros are omitted. */
  private static byte[] integers(long... parts) throws IOException {
    return message(
        out -> {
          for (int i = 0; i < parts.length; i++) {
            if (parts[i] != 0) {
              out.writeTag(i + 1, WireFormat.WIRETYPE_VARINT);
              out.writeUInt64NoTag(parts[i]);
            }
          }
        });
  }
}
