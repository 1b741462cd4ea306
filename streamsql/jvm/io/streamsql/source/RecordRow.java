package io.streamsql.source;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Records of one partition as rows of Spark's Kafka source, consecutively in one row object. It
 * points to the consumer's memory: Spark's own converter copies a record into an UnsafeRow, from
 * which the decoder copies it again. Spark puts a projection above each source, so no operator that
 * keeps rows sees this one.
 */
final class RecordRow {
  private static final int KEY = 0;
  private static final int VALUE = 1;
  private static final int TOPIC = 2;
  private static final int PARTITION = 3;
  private static final int OFFSET = 4;
  private static final int TIMESTAMP = 5;
  private static final int TIMESTAMP_TYPE = 6;
  private static final int HEADERS = 7;
  private static final long MICROS = 1000;

  private final Object[] values;
  private final InternalRow row;

  RecordRow(String topic, int partition, boolean headers) {
    values = new Object[headers ? HEADERS + 1 : HEADERS];
    values[TOPIC] = UTF8String.fromString(topic);
    values[PARTITION] = partition;
    row = new GenericInternalRow(values);
  }

  /** The record, until the next one is requested. */
  InternalRow of(ConsumerRecord<byte[], byte[]> record) {
    values[KEY] = record.key();
    values[VALUE] = record.value();
    values[OFFSET] = record.offset();
    values[TIMESTAMP] = record.timestamp() * MICROS;
    values[TIMESTAMP_TYPE] = record.timestampType().id;
    if (values.length > HEADERS) {
      values[HEADERS] = headers(record.headers().toArray());
    }
    return row;
  }

  private static GenericArrayData headers(Header[] headers) {
    if (headers.length == 0) {
      return null;
    }
    Object[] found = new Object[headers.length];
    for (int i = 0; i < headers.length; i++) {
      UTF8String name = UTF8String.fromString(headers[i].key());
      found[i] = new GenericInternalRow(new Object[] {name, headers[i].value()});
    }
    return new GenericArrayData(found);
  }
}
