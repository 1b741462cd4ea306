package io.streamsql.connector;

import io.streamsql.formats.Codec;
import io.streamsql.monitoring.ProcessingLog;
import java.io.Serializable;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Encodes a struct of the key's or the value's columns (for windowed keys with WINDOWSTART and
 * WINDOWEND after them) as bytes, a null struct as null.
 *
 * <p>With a log, a struct that does not fit the format's schema is reported there, and the sink,
 * which recognizes it by {@link #isUnwritable}, drops the record. Without a log it fails the query.
 */
public final class RecordEncoder implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final String STEP = "Sink";

  /** Random per JVM: one task encodes and writes a record. */
  private static final byte[] UNWRITABLE = new byte[16];

  static {
    new SecureRandom().nextBytes(UNWRITABLE);
  }

  private final Codec codec;
  private final ProcessingLog log;
  private final String target;

  private RecordEncoder(Codec codec, ProcessingLog log, String target) {
    this.codec = codec;
    this.log = log;
    this.target = target;
  }

  /** Arguments as of {@link RecordDecoder#of}, for one side. */
  public static RecordEncoder of(String format, Map<String, String> properties, String schema) {
    return new RecordEncoder(Codecs.of(format, properties, Codecs.schema(schema)), null, null);
  }

  /**
   * An encoder that reports to the log what it cannot encode; the target is {@code key} or {@code
   * value}.
   */
  public RecordEncoder reporting(ProcessingLog log, String target) {
    return new RecordEncoder(codec, log, target);
  }

  /** Whether it may report a failure, so that Spark must not evaluate it twice. */
  public boolean reports() {
    return log != null;
  }

  /** Whether the bytes mark a struct that could not be encoded. */
  static boolean isUnwritable(byte[] bytes) {
    return bytes != null && Arrays.equals(bytes, UNWRITABLE);
  }

  /** The bytes, or null. */
  public byte[] encode(InternalRow row) {
    if (row == null) {
      return null;
    }
    try {
      return codec.encode(row);
    } catch (RuntimeException e) { // of the codec or a library: not declared which
      if (log == null) {
        throw e;
      }
      log.serializationError(STEP, target, e.getMessage());
      return UNWRITABLE;
    }
  }

  @Override
  public String toString() {
    return "encoder";
  }
}
