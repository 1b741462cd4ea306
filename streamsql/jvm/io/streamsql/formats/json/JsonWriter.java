package io.streamsql.formats.json;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.io.SerializedString;
import java.io.IOException;
import java.io.Serializable;
import java.util.Base64;
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
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Writes one SQL value as JSON. Null fields are written; DECIMAL is a number in plain digits with
 * its full scale; TIMESTAMP and TIME are milliseconds, DATE days; BYTES is base64; non-finite
 * numbers are the texts "NaN", "Infinity", "-Infinity".
 */
interface JsonWriter extends Serializable {
  /** Writes the non-null value at {@code i} of a row or an array. */
  void writeValue(JsonGenerator out, SpecializedGetters from, int i) throws IOException;

  /** Writes the value at {@code i}, null included. */
  default void write(JsonGenerator out, SpecializedGetters from, int i) throws IOException {
    if (from.isNullAt(i)) {
      out.writeNull();
    } else {
      writeValue(out, from, i);
    }
  }

  static JsonWriter of(DataType type) {
    if (type instanceof ArrayType array) {
      return new Array(of(array.elementType()));
    } else if (type instanceof MapType map && map.keyType() instanceof StringType) {
      return new MapWriter(of(map.valueType()));
    } else if (type instanceof StructType struct) {
      return new Struct(struct);
    } else if (type instanceof DecimalType decimal) {
      int precision = decimal.precision();
      int scale = decimal.scale();
      return (out, from, i) ->
          out.writeNumber(from.getDecimal(i, precision, scale).toJavaBigDecimal());
    }
    return simple(type);
  }

  private static JsonWriter simple(DataType type) {
    if (type instanceof StringType) {
      return (out, from, i) -> writeText(out, from.getUTF8String(i));
    } else if (type instanceof IntegerType || type instanceof DateType) {
      return (out, from, i) -> out.writeNumber(from.getInt(i));
    } else if (type instanceof LongType) {
      return (out, from, i) -> out.writeNumber(from.getLong(i));
    } else if (type instanceof TimestampType) {
      return (out, from, i) -> out.writeNumber(Math.floorDiv(from.getLong(i), 1000L));
    } else if (type instanceof DoubleType) {
      return (out, from, i) -> out.writeNumber(from.getDouble(i));
    } else if (type instanceof BooleanType) {
      return (out, from, i) -> out.writeBoolean(from.getBoolean(i));
    } else if (type instanceof BinaryType) {
      return (out, from, i) ->
          out.writeString(Base64.getEncoder().encodeToString(from.getBinary(i)));
    }
    throw new IllegalArgumentException("JSON does not support " + type.sql());
  }

  /** Text without conversion to a Java string: it is UTF-8 already. */
  private static void writeText(JsonGenerator out, UTF8String text) throws IOException {
    byte[] bytes = text.getBytes();
    out.writeUTF8String(bytes, 0, bytes.length);
  }

  /** An object with one field for each of the struct's. */
  final class Struct implements JsonWriter {
    private static final long serialVersionUID = 1L;
    private final SerializedString[] names;
    private final JsonWriter[] writers;
    private final SerializedString[] absent;

    Struct(StructType type) {
      this(type, List.of());
    }

    /** With further fields that are always null. */
    Struct(StructType type, List<String> absent) {
      this.absent = absent.stream().map(SerializedString::new).toArray(SerializedString[]::new);
      int count = type.length();
      names = new SerializedString[count];
      writers = new JsonWriter[count];
      for (int i = 0; i < count; i++) {
        names[i] = new SerializedString(type.fields()[i].name());
        writers[i] = of(type.fields()[i].dataType());
      }
    }

    @Override
    public void writeValue(JsonGenerator out, SpecializedGetters from, int i) throws IOException {
      writeFields(out, from.getStruct(i, names.length));
    }

    void writeFields(JsonGenerator out, InternalRow row) throws IOException {
      out.writeStartObject();
      for (int i = 0; i < names.length; i++) {
        out.writeFieldName(names[i]);
        writers[i].write(out, row, i);
      }
      for (SerializedString name : absent) {
        out.writeFieldName(name);
        out.writeNull();
      }
      out.writeEndObject();
    }
  }

  /** A JSON array. */
  record Array(JsonWriter element) implements JsonWriter {
    @Override
    public void writeValue(JsonGenerator out, SpecializedGetters from, int i) throws IOException {
      ArrayData array = from.getArray(i);
      out.writeStartArray();
      for (int e = 0; e < array.numElements(); e++) {
        element.write(out, array, e);
      }
      out.writeEndArray();
    }
  }

  /** A map as an object. */
  record MapWriter(JsonWriter value) implements JsonWriter {
    @Override
    public void writeValue(JsonGenerator out, SpecializedGetters from, int i) throws IOException {
      MapData map = from.getMap(i);
      ArrayData keys = map.keyArray();
      ArrayData values = map.valueArray();
      out.writeStartObject();
      for (int e = 0; e < map.numElements(); e++) {
        out.writeFieldName(keys.getUTF8String(e).toString());
        value.write(out, values, e);
      }
      out.writeEndObject();
    }
  }
}
