package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.kafka010.KafkaRecordToRowConverter;
import org.junit.jupiter.api.Test;

/** Rows of records are those that Spark's own source makes. */
final class RecordRowTest {
  private static ConsumerRecord<byte[], byte[]> record(
      byte[] key, byte[] value, String... headers) {
    RecordHeaders all = new RecordHeaders();
    for (String header : headers) {
      all.add(new RecordHeader(header, header.equals("none") ? null : bytes("of " + header)));
    }
    return new ConsumerRecord<>(
        "topic",
        3,
        5_000_000_000L,
        1_700_000_000_123L,
        TimestampType.LOG_APPEND_TIME,
        0,
        0,
        key,
        value,
        all,
        Optional.empty());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void check(
      RecordRow rows, ConsumerRecord<byte[], byte[]> record, boolean headers) {
    InternalRow row = rows.of(record);
    byte[] ours =
        UnsafeProjection.create(KafkaRecordToRowConverter.kafkaSchema(headers))
            .apply(row)
            .getBytes();
    byte[] sparks =
        new KafkaRecordToRowConverter().toUnsafeRowProjector(headers).apply(record).getBytes();
    assertArrayEquals(sparks, ours);
  }

  @Test
  void rowsAreThoseOfSpark() {
    for (boolean headers : new boolean[] {false, true}) {
      RecordRow rows = new RecordRow("topic", 3, headers);
      check(rows, record(bytes("key"), bytes("value"), "a", "none", "a"), headers);
      check(rows, record(null, bytes("value")), headers);
      check(rows, record(bytes(""), null, "b"), headers);
    }
  }

  @Test
  void valuesAreNotCopied() {
    byte[] value = bytes("value");
    InternalRow row = new RecordRow("topic", 3, true).of(record(null, value));
    assertSame(value, row.getBinary(1));
    assertTrue(row.isNullAt(0));
    assertTrue(row.isNullAt(7));
  }
}
