package io.streamsql.expressions;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * Encodes structs as the bytes of their {@link UnsafeRow} and decodes them: state operators carry
 * and keep rows in this form, whatever their columns. Equal structs of one type have equal bytes.
 */
public final class PackedRows implements Serializable {
  private static final long serialVersionUID = 1L;
  private final StructType type;
  private transient UnsafeProjection projection;

  PackedRows(StructType type) {
    this.type = type;
  }

  /** The struct's bytes; null for null. */
  public byte[] pack(InternalRow row) {
    if (row == null) {
      return null;
    }
    if (projection == null) {
      projection = UnsafeProjection.create(type);
    }
    return bytes(projection.apply(row));
  }

  /** A copy of a row's bytes, whose buffer is reused. */
  public static byte[] bytes(UnsafeRow row) {
    byte[] bytes = new byte[row.getSizeInBytes()];
    row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET);
    return bytes;
  }

  /** The struct over these very bytes; null for null. */
  public InternalRow unpack(byte[] bytes) {
    if (bytes == null) {
      return null;
    }
    UnsafeRow row = new UnsafeRow(type.length());
    row.pointTo(bytes, bytes.length);
    return row;
  }

  @Override
  public String toString() {
    return "rows";
  }
}
