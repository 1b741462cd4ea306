package io.streamsql.serving;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A record as a {@link TableStore} keeps it under its key: timestamp (long, ms), partition (int),
 * offset (long), the number of headers (int) with a name and a value each, and last the value. A
 * byte string is its length (int, -1 for null) and its bytes.
 */
final class StoredRow {
  private static final int FIXED = 8 + 4 + 8 + 4;

  private StoredRow() {}

  /** The record, which has a value, as bytes. */
  static byte[] pack(ConsumerRecord<byte[], byte[]> record) {
    Header[] headers = record.headers().toArray();
    byte[][] names = new byte[headers.length][];
    int size = FIXED + record.value().length;
    for (int i = 0; i < headers.length; i++) {
      names[i] = headers[i].key().getBytes(StandardCharsets.UTF_8);
      size += 8 + names[i].length + (headers[i].value() == null ? 0 : headers[i].value().length);
    }
    ByteBuffer out = ByteBuffer.allocate(size);
    out.putLong(record.timestamp()).putInt(record.partition()).putLong(record.offset());
    out.putInt(headers.length);
    for (int i = 0; i < headers.length; i++) {
      put(out, names[i]);
      put(out, headers[i].value());
    }
    return out.put(record.value()).array();
  }

  /** The record's timestamp in ms. */
  static long timestamp(byte[] packed) {
    return ByteBuffer.wrap(packed).getLong();
  }

  static int partition(byte[] packed) {
    return ByteBuffer.wrap(packed).getInt(8);
  }

  static long offset(byte[] packed) {
    return ByteBuffer.wrap(packed).getLong(12);
  }

  /** The record as a row of Spark's Kafka source, headers included. */
  static InternalRow row(UTF8String topic, byte[] key, byte[] packed) {
    ByteBuffer in = ByteBuffer.wrap(packed);
    long timestamp = in.getLong();
    int partition = in.getInt();
    long offset = in.getLong();
    GenericArrayData headers = headers(in);
    byte[] value = Arrays.copyOfRange(packed, in.position(), packed.length);
    Object[] fields = {key, value, topic, partition, offset, timestamp * 1000, 0, headers};
    return new GenericInternalRow(fields);
  }

  private static GenericArrayData headers(ByteBuffer in) {
    int count = in.getInt();
    if (count == 0) {
      return null;
    }
    Object[] headers = new Object[count];
    for (int i = 0; i < count; i++) {
      headers[i] = new GenericInternalRow(new Object[] {UTF8String.fromBytes(get(in)), get(in)});
    }
    return new GenericArrayData(headers);
  }

  private static void put(ByteBuffer out, byte[] bytes) {
    out.putInt(bytes == null ? -1 : bytes.length);
    if (bytes != null) {
      out.put(bytes);
    }
  }

  private static byte[] get(ByteBuffer in) {
    int length = in.getInt();
    if (length < 0) {
      return null;
    }
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }
}
