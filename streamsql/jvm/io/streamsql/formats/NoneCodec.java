package io.streamsql.formats;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** The side of a record that has no columns: its bytes are ignored, and none are written. */
public final class NoneCodec implements Codec {
  private static final long serialVersionUID = 1L;

  public NoneCodec(StructType columns) {
    if (columns.length() != 0) {
      throw new IllegalArgumentException("the NONE format supports no columns: " + columns.sql());
    }
  }

  @Override
  public int width() {
    return 0;
  }

  @Override
  public boolean decode(byte[] bytes, Object[] fields, int at) {
    return true;
  }

  @Override
  public byte[] encode(InternalRow row) {
    return null;
  }
}
