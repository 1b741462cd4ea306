package io.streamsql.formats;

import java.nio.ByteBuffer;

/** The five bytes before a record whose schema is in a registry: a zero, and the schema's id. */
public final class Framing {
  public static final int SIZE = 5;

  private Framing() {}

  /** The id; the content begins at {@link #SIZE}. */
  public static int schemaId(byte[] bytes) throws RecordException {
    if (bytes.length < SIZE || bytes[0] != 0) {
      throw new RecordException("the record does not begin with the id of a schema");
    }
    return ByteBuffer.wrap(bytes, 1, 4).getInt();
  }

  public static byte[] frame(int id) {
    return ByteBuffer.allocate(SIZE).put((byte) 0).putInt(id).array();
  }
}
