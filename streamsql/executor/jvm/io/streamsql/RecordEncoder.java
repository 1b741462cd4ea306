package io.streamsql;

import java.io.Serializable;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Turns a struct of one side's columns (for windowed keys with WINDOWSTART and WINDOWEND after them)
 * into bytes; a null struct into null.
 */
public final class RecordEncoder implements Serializable {
  private static final long serialVersionUID = 1L;
  private final Codec codec;

  private RecordEncoder(Codec codec) {
    this.codec = codec;
  }

  /** Arguments as of {@link RecordDecoder#of}, for one side. */
  public static RecordEncoder of(String format, Map<String, String> properties, String schema) {
    return new RecordEncoder(Codecs.of(format, properties, Codecs.schema(schema)));
  }

  /** The bytes, or null. */
  public byte[] encode(InternalRow row) {
    return row == null ? null : codec.encode(row);
  }

  @Override
  public String toString() {
    return "encoder";
  }
}
