package io.streamsql.operators.joins;

import java.nio.ByteBuffer;

/** The message from the second step of a foreign-key join to the third: the result of a version. */
final class ForeignKeyResult {
  private static final int NONE = -1;
  final long version;

  /** Null: the version has no result. */
  final byte[] left;

  final byte[] right;

  ForeignKeyResult(long version, byte[] left, byte[] right) {
    this.version = version;
    this.left = left;
    this.right = right;
  }

  static ForeignKeyResult of(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new ForeignKeyResult(buffer.getLong(), next(buffer), next(buffer));
  }

  private static byte[] next(ByteBuffer buffer) {
    int size = buffer.getInt();
    if (size == NONE) {
      return null;
    }
    byte[] part = new byte[size];
    buffer.get(part);
    return part;
  }

  byte[] bytes() {
    ByteBuffer buffer =
        ByteBuffer.allocate(Long.BYTES + 2 * Integer.BYTES + sizeOf(left) + sizeOf(right));
    buffer.putLong(version);
    put(left, buffer);
    put(right, buffer);
    return buffer.array();
  }

  private static int sizeOf(byte[] part) {
    return part == null ? 0 : part.length;
  }

  private static void put(byte[] part, ByteBuffer buffer) {
    buffer.putInt(part == null ? NONE : part.length);
    if (part != null) {
      buffer.put(part);
    }
  }
}
