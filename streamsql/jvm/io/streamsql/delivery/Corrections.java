package io.streamsql.delivery;

import io.streamsql.kafka.ByteArrays;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.ForeachPartitionFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * Writes a batch of rows to a topic: the corrections of a table after a rebuild of its query.
 *
 * <p>Input: rows of key BINARY, value BINARY, timestamp BIGINT in ms, headers
 * ARRAY&lt;STRUCT&lt;key STRING, value BINARY&gt;&gt;. With the ids of a query and its checkpoint,
 * the rows of a task are one transaction, whose id is that of the query's task: it fences earlier
 * writers, and the query and the next attempt fence it.
 */
public final class Corrections implements ForeachPartitionFunction<Row> {
  private static final long serialVersionUID = 1L;
  private static final int OPEN_MILLIS = 900_000;
  private final Map<String, String> settings;
  private final String topic;
  private final String writer;

  private Corrections(Map<String, String> settings, String topic, String writer) {
    this.settings = Map.copyOf(settings);
    this.topic = topic;
    this.writer = writer;
  }

  /**
   * Writes all rows; returns when Kafka has acknowledged them.
   *
   * @param settings of the producer
   * @param writer the ids of the query and of its checkpoint, separated by a dot; null: no
   *     transactions
   */
  public static void write(
      Dataset<Row> rows, Map<String, String> settings, String topic, String writer) {
    rows.foreachPartition(new Corrections(settings, topic, writer));
  }

  /** Writes a few rows that are in the driver. */
  static void write(List<Row> rows, Map<String, String> settings, String topic, String writer) {
    new Corrections(settings, topic, writer).call(rows.iterator());
  }

  @Override
  public void call(Iterator<Row> rows) {
    if (!rows.hasNext()) {
      return;
    }
    try (Producer<byte[], byte[]> producer = ByteArrays.producer(producerSettings())) {
      if (writer == null) {
        send(rows, producer);
      } else {
        producer.initTransactions();
        sendOnce(rows, producer);
      }
    }
  }

  private void sendOnce(Iterator<Row> rows, Producer<byte[], byte[]> producer) {
    producer.beginTransaction();
    boolean sent = false;
    try {
      send(rows, producer);
      sent = true;
    } finally {
      if (!sent) {
        producer.abortTransaction();
      }
    }
    producer.commitTransaction();
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the callback receives the failure
  private void send(Iterator<Row> rows, Producer<byte[], byte[]> producer) {
    AtomicReference<Exception> failure = new AtomicReference<>();
    while (rows.hasNext()) {
      producer.send(record(rows.next()), (written, e) -> failure.compareAndSet(null, e));
    }
    producer.flush();
    if (failure.get() != null) {
      throw new IllegalStateException(
          "a record could not be written to Kafka: " + failure.get(), failure.get());
    }
  }

  private Map<String, Object> producerSettings() {
    Map<String, Object> all = new HashMap<>(settings);
    if (writer != null) {
      int task = TaskContext.getPartitionId();
      all.put("transactional.id", Delivery.ID_PREFIX + writer + "." + task);
      all.put("transaction.timeout.ms", OPEN_MILLIS);
    }
    return all;
  }

  private ProducerRecord<byte[], byte[]> record(Row row) {
    Long timestamp = row.isNullAt(2) ? null : row.getLong(2);
    return new ProducerRecord<>(
        topic, null, timestamp, row.<byte[]>getAs(0), row.<byte[]>getAs(1), headers(row));
  }

  private static List<Header> headers(Row row) {
    if (row.isNullAt(3)) {
      return null;
    }
    List<Header> headers = new ArrayList<>();
    for (Row header : row.<Row>getList(3)) {
      headers.add(new RecordHeader(header.getString(0), header.<byte[]>getAs(1)));
    }
    return headers;
  }
}
