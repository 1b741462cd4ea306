package io.streamsql.formats.avro;

import io.streamsql.formats.FieldNames;
import io.streamsql.formats.TextValues;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
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
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Writes one SQL value by a schema: the one derived from the columns, or another that can hold
 * them, whose further fields have defaults or allow null.
 */
interface AvroWriter {
  void write(SpecializedGetters from, int i, BinaryEncoder out) throws IOException;

  /** IllegalArgumentException if the schema does not hold the column's type. */
  static AvroWriter of(Schema schema, StructField column) {
    AvroWriter writer = of(schema, column.dataType());
    if (writer == null) {
      throw new IllegalArgumentException(
          "the Avro schema has "
              + schema.getType().getName()
              + " for "
              + column.name()
              + ", which cannot hold "
              + column.dataType().sql());
    }
    return schema.isNullable() ? writer : notNull(writer, column.name());
  }

  /** The schema, or its branch, of the type. */
  static Schema only(Schema schema, Schema.Type type) {
    List<Schema> candidates =
        schema.getType() == Schema.Type.UNION ? schema.getTypes() : List.of(schema);
    return candidates.stream()
        .filter(s -> s.getType() == type)
        .findFirst()
        .orElseThrow(
            () -> new IllegalArgumentException("the Avro schema is not of a " + type.getName()));
  }

  private static AvroWriter notNull(AvroWriter writer, String name) {
    return (from, i, out) -> {
      if (from.isNullAt(i)) {
        throw new IllegalArgumentException("the Avro schema does not allow null for " + name);
      }
      writer.write(from, i, out);
    };
  }

  /** Null if the schema does not hold the type. */
  private static AvroWriter of(Schema schema, DataType type) {
    if (schema.getType() == Schema.Type.UNION) {
      return union(schema, type);
    } else if (type instanceof StructType struct) {
      return schema.getType() == Schema.Type.RECORD ? new Struct(schema, struct) : null;
    } else if (type instanceof ArrayType array) {
      AvroWriter element =
          schema.getType() == Schema.Type.ARRAY
              ? of(schema.getElementType(), array.elementType())
              : null;
      return element == null ? null : array(element);
    } else if (type instanceof MapType map) {
      return map(schema, map);
    } else if (type instanceof DecimalType decimal) {
      return decimal(schema, decimal);
    }
    return simple(schema, type);
  }

  private static AvroWriter union(Schema schema, DataType type) {
    int none = -1;
    int some = -1;
    AvroWriter found = null;
    for (int b = 0; b < schema.getTypes().size(); b++) {
      Schema branch = schema.getTypes().get(b);
      if (branch.getType() == Schema.Type.NULL) {
        none = b;
      } else if (found == null && (found = of(branch, type)) != null) {
        some = b;
      }
    }
    if (found == null) {
      return null;
    }
    AvroWriter writer = found;
    int nullIndex = none;
    int index = some;
    return (from, i, out) -> {
      boolean missing = from.isNullAt(i);
      if (missing && nullIndex < 0) {
        throw new IllegalArgumentException("the Avro schema does not allow null: " + schema);
      }
      out.writeIndex(missing ? nullIndex : index);
      if (!missing) {
        writer.write(from, i, out);
      }
    };
  }

  private static AvroWriter array(AvroWriter element) {
    return (from, i, out) -> {
      ArrayData array = from.getArray(i);
      int size = array.numElements();
      out.writeArrayStart();
      out.setItemCount(size);
      for (int e = 0; e < size; e++) {
        out.startItem();
        element.write(array, e, out);
      }
      out.writeArrayEnd();
    };
  }

  /** As an Avro map, or as an array of records of key and value. */
  private static AvroWriter map(Schema schema, MapType type) {
    boolean isMap = schema.getType() == Schema.Type.MAP;
    if (!isMap && schema.getType() != Schema.Type.ARRAY) {
      return null;
    }
    Schema entry = isMap ? null : schema.getElementType();
    if (!isMap && (entry.getType() != Schema.Type.RECORD || entry.getFields().size() != 2)) {
      return null;
    }
    AvroWriter key = isMap ? null : of(entry.getFields().get(0).schema(), type.keyType());
    AvroWriter value =
        of(isMap ? schema.getValueType() : entry.getFields().get(1).schema(), type.valueType());
    if (value == null || (!isMap && key == null)) {
      return null;
    }
    return (from, i, out) -> {
      MapData map = from.getMap(i);
      ArrayData keys = map.keyArray();
      ArrayData values = map.valueArray();
      out.writeArrayStart(); // maps and arrays are written alike
      out.setItemCount(map.numElements());
      for (int e = 0; e < map.numElements(); e++) {
        out.startItem();
        if (isMap) {
          text(keys.getUTF8String(e), out);
        } else {
          key.write(keys, e, out);
        }
        value.write(values, e, out);
      }
      out.writeArrayEnd();
    };
  }

  private static void text(UTF8String text, BinaryEncoder out) throws IOException {
    byte[] bytes = text.getBytes();
    out.writeBytes(bytes, 0, bytes.length); // the encoding of strings: a length and UTF-8
  }

  private static void bytes(Schema schema, byte[] bytes, BinaryEncoder out) throws IOException {
    if (schema.getType() != Schema.Type.FIXED) {
      out.writeBytes(bytes, 0, bytes.length);
    } else if (bytes.length == schema.getFixedSize()) {
      out.writeFixed(bytes, 0, bytes.length);
    } else {
      throw new IllegalArgumentException(
          schema.getFullName() + " takes " + schema.getFixedSize() + " bytes, not " + bytes.length);
    }
  }

  private static AvroWriter decimal(Schema schema, DecimalType type) {
    if (!(schema.getLogicalType() instanceof LogicalTypes.Decimal logical)) {
      return null;
    }
    int precision = type.precision();
    int scale = type.scale();
    return (from, i, out) -> {
      byte[] unscaled =
          from.getDecimal(i, precision, scale)
              .toJavaBigDecimal()
              .setScale(logical.getScale(), RoundingMode.HALF_UP)
              .unscaledValue()
              .toByteArray();
      if (schema.getType() == Schema.Type.FIXED) {
        byte[] padded = new byte[schema.getFixedSize()];
        Arrays.fill(padded, unscaled[0] < 0 ? (byte) -1 : 0);
        System.arraycopy(unscaled, 0, padded, padded.length - unscaled.length, unscaled.length);
        unscaled = padded;
      }
      bytes(schema, unscaled, out);
    };
  }

  private static AvroWriter simple(Schema schema, DataType type) {
    Schema.Type to = schema.getType();
    String logical = schema.getLogicalType() == null ? "" : schema.getLogicalType().getName();
    if (type instanceof StringType && to == Schema.Type.STRING) {
      return (from, i, out) -> text(from.getUTF8String(i), out);
    } else if (type instanceof StringType && to == Schema.Type.ENUM) {
      return (from, i, out) -> out.writeEnum(symbol(schema, from.getUTF8String(i).toString()));
    } else if (type instanceof BooleanType && to == Schema.Type.BOOLEAN) {
      return (from, i, out) -> out.writeBoolean(from.getBoolean(i));
    } else if (type instanceof DateType && to == Schema.Type.INT) {
      return (from, i, out) -> out.writeInt(from.getInt(i));
    } else if (type instanceof IntegerType) {
      return number(to, (from, i) -> from.getInt(i));
    } else if (type instanceof LongType && to == Schema.Type.INT && logical.startsWith("time-")) {
      return (from, i, out) -> out.writeInt((int) from.getLong(i));
    } else if (type instanceof LongType && to == Schema.Type.LONG) {
      long factor = logical.equals("time-micros") ? 1000L : 1L;
      return (from, i, out) -> out.writeLong(from.getLong(i) * factor);
    } else if (type instanceof TimestampType && to == Schema.Type.LONG) {
      long divisor = logical.equals("timestamp-micros") ? 1L : 1000L;
      return (from, i, out) -> out.writeLong(Math.floorDiv(from.getLong(i), divisor));
    } else if (type instanceof DoubleType && to == Schema.Type.DOUBLE) {
      return (from, i, out) -> out.writeDouble(from.getDouble(i));
    } else if (type instanceof DoubleType && to == Schema.Type.FLOAT) {
      return (from, i, out) -> out.writeFloat((float) from.getDouble(i));
    } else if (type instanceof BinaryType && (to == Schema.Type.BYTES || to == Schema.Type.FIXED)) {
      return (from, i, out) -> bytes(schema, from.getBinary(i), out);
    }
    return null;
  }

  /** An INT of a row. */
  interface IntGetter {
    int get(SpecializedGetters from, int i);
  }

  private static AvroWriter number(Schema.Type to, IntGetter value) {
    return switch (to) {
      case INT -> (from, i, out) -> out.writeInt(value.get(from, i));
      case LONG -> (from, i, out) -> out.writeLong(value.get(from, i));
      case FLOAT -> (from, i, out) -> out.writeFloat(value.get(from, i));
      case DOUBLE -> (from, i, out) -> out.writeDouble(value.get(from, i));
      default -> null;
    };
  }

  private static int symbol(Schema schema, String text) {
    if (!schema.hasEnumSymbol(text)) {
      throw new IllegalArgumentException(
          "the Avro enum " + schema.getFullName() + " has no symbol " + TextValues.quoted(text));
    }
    return schema.getEnumOrdinal(text);
  }

  /** A record by the names of its fields. */
  final class Struct implements AvroWriter {
    private final int width;
    private final int[] columns;
    private final AvroWriter[] writers;
    private final byte[][] constants;

    Struct(Schema schema, StructType struct) {
      List<Schema.Field> fields = schema.getFields();
      List<String> names = new ArrayList<>();
      fields.forEach(f -> names.add(f.name()));
      width = struct.length();
      columns = FieldNames.positions(struct, names);
      writers = new AvroWriter[columns.length];
      constants = new byte[columns.length][];
      for (int f = 0; f < columns.length; f++) {
        Schema.Field field = fields.get(f);
        if (columns[f] >= 0) {
          AvroWriter writer = of(field.schema(), struct.fields()[columns[f]]);
          boolean replaced = field.hasDefaultValue() && !field.schema().isNullable();
          writers[f] = replaced ? orDefault(writer, absent(field)) : writer;
        } else {
          constants[f] = absent(field);
        }
      }
    }

    /** Null becomes the field's default if its type does not allow null. */
    private static AvroWriter orDefault(AvroWriter writer, byte[] constant) {
      return (from, i, out) -> {
        if (from.isNullAt(i)) {
          out.writeFixed(constant);
        } else {
          writer.write(from, i, out);
        }
      };
    }

    /** The value of a field that the query has no column for. */
    private static byte[] absent(Schema.Field field) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      BinaryEncoder out = EncoderFactory.get().binaryEncoder(bytes, null);
      try {
        Object value = field.hasDefaultValue() ? GenericData.get().getDefaultValue(field) : null;
        new GenericDatumWriter<Object>(field.schema()).write(value, out);
        out.flush();
      } catch (AvroRuntimeException | NullPointerException e) {
        throw new IllegalArgumentException(
            "the Avro schema's field " + field.name() + " has no column and no default", e);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return bytes.toByteArray();
    }

    @Override
    public void write(SpecializedGetters from, int i, BinaryEncoder out) throws IOException {
      writeFields(from.getStruct(i, width), out);
    }

    void writeFields(InternalRow row, BinaryEncoder out) throws IOException {
      for (int f = 0; f < columns.length; f++) {
        if (columns[f] >= 0) {
          writers[f].write(row, columns[f], out);
        } else {
          out.writeFixed(constants[f]);
        }
      }
    }
  }
}
