package io.streamsql.formats.protobuf;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.WireFormat;
import io.streamsql.formats.RecordException;
import io.streamsql.formats.TextValues;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalTime;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** Single Protobuf values as SQL types: scalars, and messages that represent one value. */
final class ProtobufValues {
  private ProtobufValues() {}

  /** The converted value; null if it cannot become the type. */
  private interface Conversion {
    Object apply(Object value);
  }

  /** Reads a scalar or an enum; null if it cannot become the type. */
  static ProtobufReader.Value scalar(FieldDescriptor field, DataType type) {
    Conversion conversion = conversion(field, type);
    if (conversion == null) {
      return null;
    }
    FieldDescriptor.Type written = field.getType();
    return in -> conversion.apply(raw(written, in));
  }

  /** The default of a scalar or an enum; null if it cannot become the type. */
  static Object absent(FieldDescriptor field, DataType type) {
    Conversion conversion =
        field.getJavaType() == FieldDescriptor.JavaType.MESSAGE ? null : conversion(field, type);
    if (conversion == null) {
      return null;
    }
    Object value = field.getDefaultValue();
    return conversion.apply(
        value instanceof EnumValueDescriptor e ? (Object) e.getNumber() : value);
  }

  private static Object raw(FieldDescriptor.Type type, CodedInputStream in) throws IOException {
    return switch (type) {
      case INT32 -> in.readInt32();
      case SINT32 -> in.readSInt32();
      case SFIXED32 -> in.readSFixed32();
      case UINT32 -> in.readUInt32();
      case FIXED32 -> in.readFixed32();
      case INT64 -> in.readInt64();
      case SINT64 -> in.readSInt64();
      case SFIXED64 -> in.readSFixed64();
      case UINT64 -> in.readUInt64();
      case FIXED64 -> in.readFixed64();
      case FLOAT -> in.readFloat();
      case DOUBLE -> in.readDouble();
      case BOOL -> in.readBool();
      case STRING -> in.readStringRequireUtf8();
      case BYTES -> in.readByteArray();
      case ENUM -> in.readEnum();
      case GROUP, MESSAGE -> throw new IllegalStateException("not a scalar: " + type);
    };
  }

  private static Conversion conversion(FieldDescriptor field, DataType type) {
    boolean unsigned =
        field.getType() == FieldDescriptor.Type.UINT32
            || field.getType() == FieldDescriptor.Type.FIXED32;
    return switch (field.getJavaType()) {
      case INT -> integer(type, unsigned);
      case LONG ->
          type instanceof LongType
              ? v -> v
              : type instanceof StringType ? ProtobufValues::text : number(type);
      case FLOAT, DOUBLE -> type instanceof StringType ? ProtobufValues::text : number(type);
      case BOOLEAN ->
          type instanceof BooleanType
              ? v -> v
              : type instanceof StringType ? ProtobufValues::text : null;
      case STRING -> type instanceof StringType ? ProtobufValues::text : null;
      case BYTE_STRING ->
          type instanceof BinaryType ? v -> v instanceof ByteString b ? b.toByteArray() : v : null;
      case ENUM -> symbol(field.getEnumType(), type);
      case MESSAGE -> null;
    };
  }

  private static Conversion integer(DataType type, boolean unsigned) {
    if (type instanceof LongType) {
      return unsigned ? v -> Integer.toUnsignedLong((Integer) v) : v -> ((Integer) v).longValue();
    } else if (type instanceof StringType) {
      return unsigned ? v -> text(Integer.toUnsignedLong((Integer) v)) : ProtobufValues::text;
    } else if (type instanceof IntegerType) {
      return v -> v;
    }
    return number(type);
  }

  private static Conversion number(DataType type) {
    return type instanceof DoubleType ? v -> ((Number) v).doubleValue() : null;
  }

  private static UTF8String text(Object value) {
    return UTF8String.fromString(value.toString());
  }

  private static Conversion symbol(EnumDescriptor symbols, DataType type) {
    if (type instanceof IntegerType) {
      return v -> v;
    } else if (!(type instanceof StringType)) {
      return null;
    }
    return v -> {
      EnumValueDescriptor known = symbols.findValueByNumber((Integer) v);
      return text(known == null ? v : known.getName());
    };
  }

  // -- messages that represent one value --------------------------------------------------------

  /** Reads such a message after its length; null for other messages or types. */
  static ProtobufReader.Value wellKnown(Descriptor message, DataType type) {
    String name = message.getFullName();
    if (name.equals(ProtobufFiles.DECIMAL) && type instanceof DecimalType decimal) {
      return in -> decimal(in, decimal);
    } else if (name.equals(ProtobufFiles.TIMESTAMP) && type instanceof TimestampType) {
      return in -> timestamp(integers(in, 2));
    } else if (name.equals(ProtobufFiles.DATE) && type instanceof DateType) {
      return in -> date(integers(in, 3));
    } else if (name.equals(ProtobufFiles.TIME) && type instanceof LongType) {
      return in -> time(integers(in, 4));
    } else if (name.startsWith("google.protobuf.") && name.endsWith("Value")) {
      return wrapper(message, type);
    }
    return null;
  }

  private static ProtobufReader.Value wrapper(Descriptor message, DataType type) {
    FieldDescriptor field = message.findFieldByNumber(1);
    boolean isWrapper =
        message.getFields().size() == 1 && field != null && field.getName().equals("value");
    ProtobufReader.Value value = isWrapper ? scalar(field, type) : null;
    if (value == null) {
      return null;
    }
    Object absent =
        field.getJavaType() == FieldDescriptor.JavaType.BYTE_STRING
            ? new byte[0]
            : absent(field, type);
    return in -> {
      int old = in.pushLimit(in.readRawVarint32());
      Object found = absent;
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        if (WireFormat.getTagFieldNumber(tag) == 1) {
          found = value.read(in);
        } else {
          in.skipField(tag);
        }
      }
      in.popLimit(old);
      return found;
    };
  }

  /** A message whose first fields are integers: these. */
  private static long[] integers(CodedInputStream in, int count) throws IOException {
    long[] values = new long[count];
    int old = in.pushLimit(in.readRawVarint32());
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      int number = WireFormat.getTagFieldNumber(tag);
      if (number <= count && WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_VARINT) {
        values[number - 1] = in.readRawVarint64();
      } else {
        in.skipField(tag);
      }
    }
    in.popLimit(old);
    return values;
  }

  private static Long timestamp(long[] parts) throws RecordException {
    try {
      long millis = Math.multiplyExact(parts[0], 1000L);
      return TextValues.micros(Math.addExact(millis, parts[1] / 1_000_000L));
    } catch (ArithmeticException e) {
      throw TextValues.mismatch("TIMESTAMP", "Protobuf timestamp of " + parts[0] + " seconds");
    }
  }

  private static Integer date(long[] parts) throws RecordException {
    try {
      return Math.toIntExact(
          LocalDate.of((int) parts[0], (int) parts[1], (int) parts[2]).toEpochDay());
    } catch (DateTimeException e) {
      throw TextValues.mismatch(
          "DATE", "Protobuf date " + parts[0] + "-" + parts[1] + "-" + parts[2]);
    }
  }

  private static Long time(long[] parts) throws RecordException {
    try {
      LocalTime time = LocalTime.of((int) parts[0], (int) parts[1], (int) parts[2], (int) parts[3]);
      return time.toNanoOfDay() / 1_000_000L;
    } catch (DateTimeException e) {
      throw TextValues.mismatch("TIME", "Protobuf time of day " + parts[0] + ":" + parts[1]);
    }
  }

  private static Object decimal(CodedInputStream in, DecimalType type)
      throws IOException, RecordException {
    byte[] unscaled = {0};
    int scale = 0;
    int old = in.pushLimit(in.readRawVarint32());
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      switch (WireFormat.getTagFieldNumber(tag)) {
        case 1 -> unscaled = in.readByteArray();
        case 3 -> scale = in.readInt32();
        default -> in.skipField(tag);
      }
    }
    in.popLimit(old);
    BigInteger digits = unscaled.length == 0 ? BigInteger.ZERO : new BigInteger(unscaled);
    return TextValues.fit(new BigDecimal(digits, scale), type);
  }
}
