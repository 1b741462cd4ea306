package io.streamsql.operators.joins;

import java.nio.ByteBuffer;

/**
 * The message from the first step of a foreign-key join to the second: a left row refers to the
 * key, has moved to another key, or was deleted. `version` grows with each change of the row.
 */
final class ForeignKeyMember {
  enum Kind {
    THERE(0),
    LEFT(1),
    DELETED(2);

    /** The encoding of the kind. */
    private final byte code;

    Kind(int code) {
      this.code = (byte) code;
    }

    private static Kind of(byte code) {
      for (Kind kind : values()) {
        if (kind.code == code) {
          return kind;
        }
      }
      throw new IllegalArgumentException("no member of a foreign key is of the kind " + code);
    }
  }

  final Kind kind;
  final long version;
  final long time;

  /** The primary key of the left table. */
  final byte[] key;

  /** The left row; empty if it moved or was deleted. */
  final byte[] row;

  ForeignKeyMember(Kind kind, long version, long time, byte[] key, byte[] row) {
    this.kind = kind;
    this.version = version;
    this.time = time;
    this.key = key;
    this.row = row;
  }

  static ForeignKeyMember of(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    Kind kind = Kind.of(buffer.get());
    long version = buffer.getLong();
    long time = buffer.getLong();
    byte[] key = new byte[buffer.getInt()];
    buffer.get(key);
    byte[] row = new byte[buffer.remaining()];
    buffer.get(row);
    return new ForeignKeyMember(kind, version, time, key, row);
  }

  byte[] bytes() {
    int size = 1 + 2 * Long.BYTES + Integer.BYTES + key.length + row.length;
    return ByteBuffer.allocate(size)
        .put(kind.code)
        .putLong(version)
        .putLong(time)
        .putInt(key.length)
        .put(key)
        .put(row)
        .array();
  }
}
