package io.streamsql.formats.avro;

import io.streamsql.formats.FieldNames;
import io.streamsql.formats.MapValues;
import io.streamsql.formats.Precision;
import io.streamsql.formats.RecordException;
import io.streamsql.formats.SqlTime;
import io.streamsql.formats.TextValues;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.util.Utf8;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
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
 * Reads one value, written with a known schema, as a SQL type. Integers widen, simple types become
 * STRING; fields are found by name, else by name without regard to case; fields that the SQL type
 * lacks are skipped. A schema that does not fit makes each of its records unreadable.
 */
interface AvroReader {
  Object read(BinaryDecoder in) throws IOException, RecordException;

  static AvroReader of(StructField column, Schema schema) {
    AvroReader reader = of(schema, column.dataType(), SqlTime.declared(column));
    return in -> {
      try {
        return reader.read(in);
      } catch (RecordException e) {
        throw e.in("." + column.name());
      }
    };
  }

  static AvroReader of(Schema schema, DataType type, String declared) {
    if (schema.getType() == Schema.Type.UNION) {
      return union(schema, type, declared);
    } else if (schema.getType() == Schema.Type.NULL) {
      return in -> null;
    } else if (type instanceof StructType struct && schema.getType() == Schema.Type.RECORD) {
      return record(schema, struct);
    } else if (type instanceof ArrayType array && schema.getType() == Schema.Type.ARRAY) {
      return array(of(schema.getElementType(), array.elementType(), SqlTime.element(declared)));
    } else if (type instanceof MapType map) {
      return map(schema, map, declared);
    }
    AvroReader found = simple(schema, type, SqlTime.isTime(declared));
    return found != null ? found : mismatch(schema, type, declared);
  }

  private static AvroReader mismatch(Schema schema, DataType type, String declared) {
    String wanted = SqlTime.isTime(declared) ? "TIME" : type.sql();
    RecordException problem = TextValues.mismatch(wanted, "Avro " + describe(schema));
    return in -> {
      throw problem;
    };
  }

  private static String describe(Schema schema) {
    LogicalType logical = schema.getLogicalType();
    String name = schema.getType().getName();
    return logical == null ? name : name + " (" + logical.getName() + ")";
  }

  /** Null or another type; several other types become a STRUCT with a field each. */
  private static AvroReader union(Schema schema, DataType type, String declared) {
    List<Schema> branches = schema.getTypes();
    long real = branches.stream().filter(b -> b.getType() != Schema.Type.NULL).count();
    AvroReader[] readers = new AvroReader[branches.size()];
    for (int i = 0; i < readers.length; i++) {
      Schema branch = branches.get(i);
      boolean field =
          real > 1 && type instanceof StructType && branch.getType() != Schema.Type.NULL;
      readers[i] = field ? member(branch, (StructType) type) : of(branch, type, declared);
    }
    return in -> readers[in.readIndex()].read(in);
  }

  private static AvroReader member(Schema branch, StructType struct) {
    int position = FieldNames.position(struct, branch.getName());
    if (position < 0) {
      return skip(branch);
    }
    AvroReader reader = of(struct.fields()[position], branch);
    return in -> {
      Object[] fields = new Object[struct.length()];
      fields[position] = reader.read(in);
      return new GenericInternalRow(fields);
    };
  }

  private static AvroReader skip(Schema schema) {
    return in -> {
      GenericDatumReader.skip(schema, in);
      return null;
    };
  }

  private static AvroReader record(Schema schema, StructType struct) {
    List<Schema.Field> written = schema.getFields();
    List<String> names = written.stream().map(Schema.Field::name).toList();
    int[] positions = FieldNames.positions(struct, names);
    AvroReader[] readers = new AvroReader[positions.length];
    for (int i = 0; i < readers.length; i++) {
      Schema field = written.get(i).schema();
      readers[i] = positions[i] < 0 ? skip(field) : of(struct.fields()[positions[i]], field);
    }
    return in -> {
      Object[] fields = new Object[struct.length()];
      for (int i = 0; i < readers.length; i++) {
        Object value = readers[i].read(in);
        if (positions[i] >= 0) {
          fields[positions[i]] = value;
        }
      }
      return new GenericInternalRow(fields);
    };
  }

  private static AvroReader array(AvroReader element) {
    return in -> {
      List<Object> values = new ArrayList<>();
      for (long n = in.readArrayStart(); n != 0; n = in.arrayNext()) {
        for (long i = 0; i < n; i++) {
          values.add(element.read(in));
        }
      }
      return new GenericArrayData(values.toArray());
    };
  }

  /** An Avro map, or an array of records of key and value. */
  private static AvroReader map(Schema schema, MapType type, String declared) {
    if (schema.getType() == Schema.Type.MAP) {
      AvroReader value = of(schema.getValueType(), type.valueType(), SqlTime.element(declared));
      return in -> {
        Map<Object, Object> entries = new LinkedHashMap<>();
        for (long n = in.readMapStart(); n != 0; n = in.mapNext()) {
          for (long i = 0; i < n; i++) {
            Object key = text(in);
            entries.put(key, value.read(in));
          }
        }
        return MapValues.of(entries);
      };
    }
    boolean entries =
        schema.getType() == Schema.Type.ARRAY
            && schema.getElementType().getType() == Schema.Type.RECORD
            && schema.getElementType().getField("key") != null
            && schema.getElementType().getField("value") != null;
    if (!entries) {
      return mismatch(schema, type, declared);
    }
    StructField value =
        new StructField(
            "value", type.valueType(), true, FieldNames.time(SqlTime.element(declared)));
    StructType entry = new StructType().add("key", type.keyType()).add(value);
    AvroReader list = array(record(schema.getElementType(), entry));
    return in -> {
      Map<Object, Object> found = new LinkedHashMap<>();
      for (Object one : ((GenericArrayData) list.read(in)).array()) {
        GenericInternalRow row = (GenericInternalRow) one;
        found.put(row.genericGet(0), row.genericGet(1));
      }
      found.remove(null); // Spark's maps have no null keys
      return MapValues.of(found);
    };
  }

  private static UTF8String text(BinaryDecoder in) throws IOException {
    Utf8 text = in.readString(new Utf8());
    return UTF8String.fromBytes(text.getBytes(), 0, text.getByteLength());
  }

  private static byte[] bytes(Schema schema, BinaryDecoder in) throws IOException {
    if (schema.getType() == Schema.Type.FIXED) {
      byte[] fixed = new byte[schema.getFixedSize()];
      in.readFixed(fixed);
      return fixed;
    }
    ByteBuffer buffer = in.readBytes(null);
    byte[] found = new byte[buffer.remaining()];
    buffer.get(found);
    return found;
  }

  /** The reader of a value that is not a container; null if it cannot become the type. */
  private static AvroReader simple(Schema schema, DataType type, boolean isTime) {
    Schema.Type written = schema.getType();
    boolean isInt = written == Schema.Type.INT;
    boolean isLong = written == Schema.Type.LONG;
    boolean isBytes = written == Schema.Type.BYTES || written == Schema.Type.FIXED;
    if (type instanceof StringType) {
      return string(schema);
    } else if (type instanceof BooleanType && written == Schema.Type.BOOLEAN) {
      return BinaryDecoder::readBoolean;
    } else if ((type instanceof IntegerType || type instanceof DateType) && isInt) {
      return BinaryDecoder::readInt;
    } else if (type instanceof LongType && (isInt || isLong)) {
      Precision precision = isTime ? precision(schema) : Precision.MILLISECONDS;
      return isInt ? in -> (long) in.readInt() : in -> precision.milliseconds(in.readLong());
    } else if (type instanceof TimestampType && isLong) {
      Precision precision = precision(schema);
      return in -> TextValues.micros(precision.milliseconds(in.readLong()));
    } else if (type instanceof TimestampType && written == Schema.Type.STRING && isZoned(schema)) {
      return in -> TextValues.toTimestamp(in.readString());
    } else if (type instanceof DoubleType) {
      return switch (written) {
        case FLOAT -> in -> (double) in.readFloat();
        case DOUBLE -> BinaryDecoder::readDouble;
        case INT -> in -> (double) in.readInt();
        case LONG -> in -> (double) in.readLong();
        default -> null;
      };
    } else if (type instanceof BinaryType && isBytes) {
      return in -> bytes(schema, in);
    } else if (type instanceof DecimalType decimal) {
      return decimal(schema, decimal);
    }
    return null;
  }

  /** The unit of a time, by Avro's logical type or Debezium's type name. */
  private static Precision precision(Schema schema) {
    LogicalType logical = schema.getLogicalType();
    if (logical != null) {
      return logical.getName().endsWith("-micros")
          ? Precision.MICROSECONDS
          : Precision.MILLISECONDS;
    }
    Precision named = Precision.named(schema.getProp("connect.name"));
    return named == null ? Precision.MILLISECONDS : named;
  }

  private static boolean isZoned(Schema schema) {
    return "io.debezium.time.ZonedTimestamp".equals(schema.getProp("connect.name"));
  }

  private static AvroReader decimal(Schema schema, DecimalType type) {
    if (schema.getLogicalType() instanceof LogicalTypes.Decimal logical) {
      int scale = logical.getScale();
      return in -> TextValues.fit(new BigDecimal(new BigInteger(bytes(schema, in)), scale), type);
    }
    return switch (schema.getType()) {
      case INT -> in -> TextValues.fit(BigDecimal.valueOf(in.readInt()), type);
      case LONG -> in -> TextValues.fit(BigDecimal.valueOf(in.readLong()), type);
      default -> null;
    };
  }

  private static AvroReader string(Schema schema) {
    return switch (schema.getType()) {
      case STRING -> AvroReader::text;
      case ENUM -> {
        UTF8String[] symbols =
            schema.getEnumSymbols().stream().map(UTF8String::fromString).toArray(UTF8String[]::new);
        yield in -> symbols[in.readEnum()];
      }
      case INT -> in -> UTF8String.fromString(Integer.toString(in.readInt()));
      case LONG -> in -> UTF8String.fromString(Long.toString(in.readLong()));
      case FLOAT -> in -> UTF8String.fromString(Float.toString(in.readFloat()));
      case DOUBLE -> in -> UTF8String.fromString(Double.toString(in.readDouble()));
      case BOOLEAN -> in -> UTF8String.fromString(Boolean.toString(in.readBoolean()));
      default -> null;
    };
  }
}
