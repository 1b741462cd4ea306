package io.streamsql.formats;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** One column as Kafka's own serializers write it: big-endian INT, BIGINT, DOUBLE; UTF-8; bytes. */
public final class KafkaCodec implements Codec {
  private static final long serialVersionUID = 1L;

  /** The column's type and its number of bytes, 0 for any. */
  private enum Kind {
    INT(4),
    BIGINT(8),
    DOUBLE(8),
    STRING(0),
    BYTES(0);

    final int size;

    Kind(int size) {
      this.size = size;
    }
  }

  private final Kind kind;
  private final String name;

  public KafkaCodec(StructType columns) {
    if (columns.length() != 1) {
      throw new IllegalArgumentException(
          "the KAFKA format supports one column only: " + columns.sql());
    }
    kind = kind(columns.fields()[0].dataType());
    name = columns.fields()[0].name();
  }

  private static Kind kind(DataType type) {
    if (type instanceof IntegerType) {
      return Kind.INT;
    } else if (type instanceof LongType) {
      return Kind.BIGINT;
    } else if (type instanceof DoubleType) {
      return Kind.DOUBLE;
    } else if (type instanceof StringType) {
      return Kind.STRING;
    } else if (type instanceof BinaryType) {
      return Kind.BYTES;
    }
    throw new IllegalArgumentException("the KAFKA format does not support " + type.sql());
  }

  @Override
  public int width() {
    return 1;
  }

  @Override
  public boolean decode(byte[] bytes, Object[] fields, int at) throws RecordException {
    if (kind.size != 0 && bytes.length != kind.size) {
      throw new RecordException(
              "expected " + kind + " of " + kind.size + " bytes, found " + bytes.length)
          .in("." + name);
    }
    fields[at] =
        switch (kind) {
          case INT -> (Object) ByteBuffer.wrap(bytes).getInt();
          case BIGINT -> (Object) ByteBuffer.wrap(bytes).getLong();
          case DOUBLE -> (Object) ByteBuffer.wrap(bytes).getDouble();
          // Through String: invalid UTF-8 becomes U+FFFD, as in Kafka's deserializer.
          case STRING -> UTF8String.fromString(new String(bytes, StandardCharsets.UTF_8));
          case BYTES -> bytes;
        };
    return true;
  }

  @Override
  public byte[] encode(InternalRow row) {
    if (row.isNullAt(0)) {
      return null;
    }
    return switch (kind) {
      case INT -> ByteBuffer.allocate(4).putInt(row.getInt(0)).array();
      case BIGINT -> ByteBuffer.allocate(8).putLong(row.getLong(0)).array();
      case DOUBLE -> ByteBuffer.allocate(8).putDouble(row.getDouble(0)).array();
      case STRING -> row.getUTF8String(0).getBytes();
      case BYTES -> row.getBinary(0);
    };
  }
}
