package io.streamsql.connector;

import io.streamsql.delivery.Delivery;
import io.streamsql.delivery.TaskIdentity;
import io.streamsql.delivery.TaskTransactions;
import io.streamsql.delivery.TopicLimits;
import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.kafka.ByteArrays;
import io.streamsql.kafka.FirstRecord;
import io.streamsql.kafka.PendingRecords;
import io.streamsql.kafka.SharedProducers;
import io.streamsql.kafka.WriteLease;
import io.streamsql.monitoring.CurrentRecord;
import io.streamsql.monitoring.ProcessingLog;
import io.streamsql.monitoring.QueryMetrics;
import io.streamsql.monitoring.ReadOffsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.execution.python.streaming.PythonForeachWriter;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Writes rows to Kafka with record timestamps, which Spark's own sink cannot set.
 *
 * <p>Input: rows of topic STRING, key BINARY, value BINARY, timestamp BIGINT in ms (null: now),
 * headers ARRAY&lt;STRUCT&lt;key STRING, value BINARY&gt;&gt;; all but the topic may be null.
 * Delivery is at least once: the end of a task waits for its records and fails the task if one was
 * not written. With a {@link Delivery} it is exactly once, and two more columns, partition INT and
 * offset BIGINT, name the input record that caused the row. A record that Kafka can never accept
 * (too large, timestamp out of range) goes to the processing log; a record that could not be
 * encoded is already there.
 *
 * <p>It extends {@link PythonForeachWriter} only for its type: Spark passes rows to that class as
 * they are, and converts each row to an object for any other writer.
 */
public final class KafkaSink extends PythonForeachWriter {
  private static final long serialVersionUID = 1L;
  private static final String STEP = "Sink";

  /** The header of a view's records with the number of the epoch they belong to. */
  private static final String EPOCH = "epoch";

  /** The columns of rows, by their places; the last ones may be missing. */
  private static final List<String> COLUMNS =
      List.of("topic", "key", "value", "timestamp", "headers", "partition", "offset");

  private static final int TOPIC = 0;
  private static final int KEY = 1;
  private static final int VALUE = 2;
  private static final int TIMESTAMP = 3;
  private static final int HEADERS = 4;
  private static final int PARTITION = 5;
  private static final int OFFSET = 6;

  private final Map<String, String> producerSettings;
  private final ProcessingLog log;
  private final Delivery delivery;

  private final String writer;
  private final boolean live;

  private transient WriteLease lease;
  private transient FirstRecord first;
  private transient TaskTransactions transactions;
  private transient Producer<byte[], byte[]> producer;
  private transient PendingRecords pending;
  private transient volatile Exception failure;
  private transient Thread task;
  private transient Queue<String> refused;
  private transient QueryMetrics metrics;
  private transient Supplier<Long> inputTime;
  private transient Header epoch;
  private transient UTF8String topicBytes;
  private transient String topic;

  /**
   * @param writer identifies the run; the same in all of its tasks
   * @param live see {@link #of}
   */
  KafkaSink(
      Map<String, String> producerSettings,
      ProcessingLog log,
      Delivery delivery,
      String writer,
      boolean live) {
    super(null, null);
    this.writer = writer;
    this.live = live;
    this.producerSettings = Map.copyOf(producerSettings);
    this.log = log;
    this.delivery = delivery;
  }

  /**
   * A sink for one run of a query.
   *
   * @param log receives the records that Kafka can never accept; null: they fail the query
   * @param delivery the exactly-once delivery; null: at least once
   * @param live whether the run follows its inputs as they grow: the latencies of a catch-up are
   *     the ages of its records, and do not count as recent ones
   */
  public static KafkaSink of(
      Map<String, String> producerSettings, ProcessingLog log, Delivery delivery, boolean live) {
    return new KafkaSink(producerSettings, log, delivery, UUID.randomUUID().toString(), live);
  }

  /** A writer for the rows, for the caller to give output mode, trigger and checkpoint. */
  public static DataStreamWriter<Row> write(Dataset<Row> rows, KafkaSink to) {
    List<String> columns = List.of(rows.columns());
    if (columns.size() < HEADERS || !COLUMNS.subList(0, columns.size()).equals(columns)) {
      throw new IllegalArgumentException("not the columns of records: " + columns);
    }
    // Declared for Row, although the rows come in another form.
    @SuppressWarnings({"unchecked", "rawtypes"})
    ForeachWriter<Row> sink = (ForeachWriter) to;
    return rows.writeStream().foreach(sink);
  }

  /**
   * Measures the latency of records without a timestamp.
   *
   * @param time gives the timestamp (ms) of the oldest input of a record; null: not known
   */
  public void measureFrom(Supplier<Long> time) {
    inputTime = time;
  }

  /** The records of the next task get a header with the number of their epoch; 0: they do not. */
  public void inEpoch(long number) {
    epoch = number == 0 ? null : new RecordHeader(EPOCH, ByteArrays.utf8(Long.toString(number)));
  }

  @Override
  public boolean open(long partition, long epoch) {
    failure = null;
    task = Thread.currentThread();
    refused = new ConcurrentLinkedQueue<>();
    topicBytes = null;
    lease = WriteLease.of(producerSettings);
    awaitLease();
    if (log != null) {
      metrics = QueryMetrics.of(log.queryId());
      ReadOffsets.writes();
    }
    if (delivery == null) {
      producer = SharedProducers.get(producerSettings);
      first = FirstRecord.of(writer);
      pending = new PendingRecords(); // discards the failures of an earlier task
    } else {
      TaskIdentity identity = TaskIdentity.current(partition, epoch);
      transactions =
          TaskTransactions.begin(delivery, identity, producerSettings, this::acknowledged);
    }
    return true;
  }

  private void awaitLease() {
    if (lease != null) {
      lease.await();
    }
  }

  @Override
  public void process(UnsafeRow row) {
    awaitLease();
    failIfBroken();
    logRefused();
    Long timestamp = row.isNullAt(TIMESTAMP) ? null : row.getLong(TIMESTAMP);
    if (timestamp != null && timestamp < 0) {
      reject("the record's timestamp is negative: " + timestamp);
      return;
    }
    byte[] key = row.getBinary(KEY);
    byte[] value = row.getBinary(VALUE);
    if (RecordEncoder.isUnwritable(key) || RecordEncoder.isUnwritable(value)) {
      return; // already in the processing log
    }
    String to = topic(row.getUTF8String(TOPIC));
    ProducerRecord<byte[], byte[]> record =
        new ProducerRecord<>(to, null, timestamp, key, value, headers(row));
    if (delivery == null) {
      send(record);
    } else {
      sendOnce(record, row);
    }
  }

  private void sendOnce(ProducerRecord<byte[], byte[]> record, UnsafeRow row) {
    String refusal = TopicLimits.of(producerSettings, record.topic()).refusal(record);
    if (refusal != null) {
      reject(refusal);
      return;
    }
    transactions.write(record, row.getInt(PARTITION), row.getLong(OFFSET));
  }

  /** The topic as a string, decoded only when it differs from the previous row's. */
  private String topic(UTF8String name) {
    if (!name.equals(topicBytes)) {
      topicBytes = name.copy(); // Spark reuses the row's memory
      topic = name.toString();
    }
    return topic;
  }

  private void send(ProducerRecord<byte[], byte[]> record) {
    PendingRecords own = pending;
    Callback acknowledged = acknowledged(record);
    own.add();
    try {
      first.send(
          producer,
          record,
          (written, e) -> {
            acknowledged.onCompletion(written, e);
            own.done();
          });
    } catch (InterruptException | ApiException e) {
      throw e; // affects this record or task only; the producer stays usable
    } catch (KafkaException e) {
      SharedProducers.discard(producerSettings, producer);
      throw e;
    }
  }

  /** The producer's callback for a record. It holds the record's timestamp, not the record. */
  private Callback acknowledged(ProducerRecord<byte[], byte[]> record) {
    Long timestamp = record.timestamp();
    Long time = timestamp != null || inputTime == null ? timestamp : inputTime.get();
    return (written, e) -> sent(written, time, e);
  }

  /** Called by the producer: within send() for records that it rejects, later by its own thread. */
  private void sent(RecordMetadata written, Long time, Exception e) {
    if (e == null) {
      if (metrics != null) {
        metrics.wrote(written, time, live);
      }
    } else if (e instanceof RecordTooLargeException || e instanceof InvalidTimestampException) {
      if (Thread.currentThread() == task) {
        reject(e.getMessage());
      } else {
        refused.add(e.getMessage());
      }
    } else if (failure == null) {
      failure = e;
    }
  }

  private void reject(String problem) {
    if (log == null) {
      throw new CodedException(ErrorCode.RECORD_REFUSED, problem);
    }
    log.productionError(STEP, problem, CurrentRecord.get());
  }

  /** A failure that the broker reported later: the record that caused it is no longer known. */
  private void logRefused() {
    for (String problem = refused.poll(); problem != null; problem = refused.poll()) {
      if (log == null) {
        throw new CodedException(ErrorCode.RECORD_REFUSED, problem);
      }
      log.productionError(STEP, problem, null);
    }
  }

  private List<Header> headers(UnsafeRow row) {
    boolean has = row.numFields() > HEADERS && !row.isNullAt(HEADERS);
    if (!has) {
      return epoch == null ? null : List.of(epoch);
    }
    ArrayData found = row.getArray(HEADERS);
    List<Header> headers = new ArrayList<>(found.numElements() + 1);
    if (epoch != null) {
      headers.add(epoch);
    }
    for (int i = 0; i < found.numElements(); i++) {
      InternalRow header = found.getStruct(i, 2);
      byte[] value = header.isNullAt(1) ? null : header.getBinary(1);
      headers.add(new RecordHeader(header.getUTF8String(0).toString(), value));
    }
    return headers;
  }

  @Override
  public void close(Throwable error) {
    if (transactions != null) {
      closeTransactions(error);
      return;
    }
    if (error != null || producer == null) {
      return; // the task's records are read and written again
    }
    pending.flush(producer);
    failIfBroken();
    logRefused();
  }

  private void closeTransactions(Throwable error) {
    if (error != null || failure != null) {
      transactions.abandon();
      failIfBroken();
    } else {
      transactions.finish();
    }
  }

  private void failIfBroken() {
    if (failure != null) {
      // Spark passes on only the message of what failed a task in an executor.
      throw new IllegalStateException(
          "a record could not be written to Kafka: " + failure, failure);
    }
  }
}
