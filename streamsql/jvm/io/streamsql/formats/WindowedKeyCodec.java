package io.streamsql.formats;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * A key of a windowed table: the key's own bytes, then the window as big-endian longs. A time
 * window is its start (8 bytes), a session its end and its start (16 bytes), as Kafka Streams
 * writes them. The bounds are two BIGINT fields, WINDOWSTART and WINDOWEND in ms, after the key's
 * columns.
 */
public final class WindowedKeyCodec implements Codec {
  private static final long serialVersionUID = 1L;
  private final Codec key;
  private final boolean session;
  private final Long size;

  private WindowedKeyCodec(Codec key, boolean session, Long size) {
    this.key = key;
    this.session = session;
    this.size = size;
  }

  public static WindowedKeyCodec of(Codec key, String window, Map<String, String> properties) {
    String size = properties.get("window.size");
    return switch (window) {
      case "time" -> new WindowedKeyCodec(key, false, size == null ? null : Long.valueOf(size));
      case "session" -> new WindowedKeyCodec(key, true, null);
      default -> throw new IllegalArgumentException("window must be time or session: " + window);
    };
  }

  @Override
  public int width() {
    return key.width() + 2;
  }

  @Override
  public boolean decode(byte[] bytes, Object[] fields, int at) throws RecordException {
    int own = bytes.length - suffix();
    if (own < 0) {
      throw new RecordException(
          "a windowed key has at least " + suffix() + " bytes, found " + bytes.length);
    }
    ByteBuffer bounds = ByteBuffer.wrap(bytes, own, suffix());
    Long end = session ? bounds.getLong() : null;
    long start = bounds.getLong();
    int bound = at + key.width();
    fields[bound] = start;
    fields[bound + 1] = session ? end : size == null ? null : Long.valueOf(start + size);
    // A key of null columns has no bytes of its own.
    return own > 0 && key.decode(Arrays.copyOf(bytes, own), fields, at);
  }

  @Override
  public byte[] encode(InternalRow row) {
    byte[] own = key.encode(row);
    int length = own == null ? 0 : own.length;
    ByteBuffer out = ByteBuffer.allocate(length + suffix());
    if (own != null) {
      out.put(own);
    }
    if (session) {
      out.putLong(row.getLong(key.width() + 1));
    }
    return out.putLong(row.getLong(key.width())).array();
  }

  private int suffix() {
    return session ? 16 : 8;
  }
}
