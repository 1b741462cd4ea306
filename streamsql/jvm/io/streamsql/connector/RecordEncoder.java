package io.streamsql.connector;

import io.streamsql.formats.Codec;
import io.streamsql.monitoring.ProcessingLog;
import java.io.Serializable;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Turns a struct of one side's columns (for windowed keys with WINDOWSTART and WINDOWEND after
 * them) into bytes; a null struct into null.
 *
 * <p>With a log, a struct that the format's schema cannot hold is reported there, and the sink,
 * which knows it by {@link #isUnwritable}, leaves the record out; without one it fails the query.
 */
public final class RecordEncoder implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final String STEP = "Sink";

  /** Drawn anew in each JVM, where a record is encoded and written by the same task. */
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
   * The same, reporting to the log what it cannot encode; the target is {@code key} or {@code
   * value}.
   */
  public RecordEncoder reporting(ProcessingLog log, String target) {
    return new RecordEncoder(codec, log, target);
  }

  /** Whether it may report, so that Spark must not evaluate it twice. */
  public boolean reports() {
    return log != null;
  }

  /** Whether the bytes stand for a struct that could not be encoded. */
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
    } catch (RuntimeException e) { // the codec's own, or of the library under it: it says not which
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
