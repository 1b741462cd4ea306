package io.streamsql.monitoring;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import io.streamsql.formats.Json;
import io.streamsql.kafka.PendingRecords;
import io.streamsql.kafka.SharedProducers;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import java.util.Map;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Writes failures of single records to the processing log's topic; the query continues.
 *
 * <p>Entries are sent asynchronously. The first entry of a task registers a listener that flushes
 * them when the task ends and fails the task if one was not written: a batch is never committed
 * without the log of its bad records, and a repeated batch logs again.
 */
public final class ProcessingLog implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Longest text of an error and, in bytes, of a record in an entry, which Kafka must accept. */
  private static final int MAX_MESSAGE = 4_000;

  private static final int MAX_RECORD = 256 * 1024;

  private static final String ERROR = "ERROR";
  private static final String WARNING = "WARN";

  private static final ThreadLocal<TaskEntries> TASK = new ThreadLocal<>();

  private final String queryId;
  private final String topic;
  private final Map<String, String> producerSettings;
  private final boolean includeRows;

  /**
   * @param topic empty: entries are counted, not written
   * @param includeRows whether entries hold the record itself ({@code
   *     ksql.logging.processing.rows.include})
   */
  public ProcessingLog(
      String queryId, String topic, Map<String, String> producerSettings, boolean includeRows) {
    this.queryId = queryId;
    this.topic = topic;
    this.producerSettings = Map.copyOf(producerSettings);
    this.includeRows = includeRows;
  }

  public String queryId() {
    return queryId;
  }

  /** A key or a value (the target) that its format cannot read. */
  public void deserializationError(String step, String target, String error, byte[] record) {
    CurrentRecord source = CurrentRecord.get();
    String base64 = includeRows ? base64(record) : null;
    send(
        step,
        0,
        "deserializationError",
        source,
        out -> {
          out.writeStringField("target", target);
          out.writeStringField("errorMessage", cut(error));
          out.writeStringField("recordB64", base64);
          out.writeFieldName("cause");
          out.writeStartArray();
          out.writeEndArray();
          out.writeStringField("topic", source == null ? null : source.topic());
        });
  }

  /** An expression that failed on a record. */
  public void recordProcessingError(String step, String error) {
    CurrentRecord source = CurrentRecord.get();
    String record = includeRows && source != null ? text(source.value()) : null;
    send(
        step,
        1,
        "recordProcessingError",
        source,
        out -> {
          out.writeStringField("errorMessage", cut(error));
          out.writeStringField("record", record);
          out.writeFieldName("cause");
          out.writeStartArray();
          out.writeEndArray();
        });
  }

  /**
   * Counts a record that violates a constraint, unless nothing is written: then the record is read
   * beside the query that counts it. Returns the record's position as text; null after a shuffle,
   * where it is unknown.
   */
  public String violated(String constraint) {
    if (!topic.isEmpty()) {
      QueryMetrics.of(queryId).violated(constraint);
    }
    CurrentRecord source = CurrentRecord.get();
    return source == null ? null : Place.of(source).text();
  }

  /** A result that could not be written to its target; the source is null if unknown. */
  public void productionError(String step, String error, CurrentRecord source) {
    send(
        step,
        2,
        "productionError",
        source,
        out -> out.writeStringField("errorMessage", cut(error)));
  }

  /** Waits until the entries of this task are written, as the end of the task does. */
  public void flush() {
    entriesOfTask().flush();
  }

  /** A key or a value (the target) of a result that its format's schema cannot hold. */
  public void serializationError(String step, String target, String error) {
    send(
        step,
        3,
        "serializationError",
        CurrentRecord.get(),
        out -> {
          out.writeStringField("target", target);
          out.writeStringField("errorMessage", cut(error));
          out.writeNullField("record");
          out.writeFieldName("cause");
          out.writeStartArray();
          out.writeEndArray();
        });
  }

  /**
   * Records of a partition that Kafka deleted before the query read them: the first offset and the
   * number, null if unknown. Counted separately, since no record failed.
   */
  public void dataLoss(String topic, int partition, long first, Long records, String why) {
    QueryMetrics.of(queryId).lost(records == null ? 1 : records);
    write(
        "Source",
        5,
        "dataLoss",
        ERROR,
        new Place(topic, partition, first),
        out -> {
          out.writeStringField("errorMessage", why);
          if (records == null) {
            out.writeNullField("records");
          } else {
            out.writeNumberField("records", records);
          }
        });
  }

  /**
   * A row that is dropped as late. It is counted, and logged if it is in a rate-limited sample;
   * after a shuffle its position is unknown.
   *
   * @param time the row's, in ms, as is that of its stream
   */
  public void lateRow(String step, long time, long streamTime) {
    QueryMetrics metrics = QueryMetrics.of(queryId);
    metrics.late();
    if (topic.isEmpty() || !metrics.samplesLateRow()) {
      return;
    }
    long late = streamTime - time;
    write(
        step,
        6,
        "lateRow",
        WARNING,
        Place.of(CurrentRecord.get()),
        out -> {
          out.writeStringField(
              "errorMessage",
              "The row was dropped as late: its time, "
                  + Instant.ofEpochMilli(time)
                  + ", is "
                  + late
                  + " ms behind that of its stream");
          out.writeNumberField("rowTime", time);
          out.writeNumberField("lateMs", late);
        });
  }

  /** The input position of a failure. */
  private record Place(String topic, int partition, long offset) {
    static Place of(CurrentRecord source) {
      return source == null ? null : new Place(source.topic(), source.partition(), source.offset());
    }

    String text() {
      return "topic " + topic + ", partition " + partition + ", offset " + offset;
    }
  }

  private interface Body {
    void write(JsonGenerator out) throws IOException;
  }

  private void send(String step, int type, String kind, CurrentRecord source, Body body) {
    if (!topic.isEmpty()) {
      QueryMetrics.of(queryId).failed();
      write(step, type, kind, ERROR, Place.of(source), body);
    }
  }

  private void write(String step, int type, String kind, String level, Place source, Body body) {
    byte[] entry;
    try (ByteArrayBuilder bytes = new ByteArrayBuilder(512)) {
      try (JsonGenerator out = Json.FACTORY.createGenerator(bytes)) {
        write(out, step, type, kind, level, source, body);
      }
      entry = bytes.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a buffer in memory does not fail
    }
    TaskEntries task = entriesOfTask();
    task.failIfBroken();
    task.send(new ProducerRecord<>(topic, null, entry));
    if (TaskContext.get() == null) {
      task.flush(); // no task to end: the planner evaluates constants on the driver
    }
  }

  private void write(
      JsonGenerator out, String step, int type, String kind, String level, Place source, Body body)
      throws IOException {
    out.writeStartObject();
    out.writeStringField("logger", "processing." + queryId + "." + step);
    out.writeStringField("level", level);
    out.writeNumberField("time", System.currentTimeMillis());
    out.writeObjectFieldStart("message");
    out.writeNumberField("type", type);
    out.writeObjectFieldStart(kind);
    body.write(out);
    out.writeEndObject();
    out.writeEndObject();
    out.writeStringField("queryId", queryId);
    out.writeStringField("topic", source == null ? null : source.topic());
    if (source == null) {
      out.writeNullField("partition");
      out.writeNullField("offset");
    } else {
      out.writeNumberField("partition", source.partition());
      out.writeNumberField("offset", source.offset());
    }
    out.writeEndObject();
  }

  private TaskEntries entriesOfTask() {
    TaskContext context = TaskContext.get();
    TaskEntries entries = TASK.get();
    if (entries == null
        || entries.context != context
        || !entries.settings.equals(producerSettings)) {
      entries = new TaskEntries(context, producerSettings);
      TASK.set(entries);
      if (context != null) {
        context.addTaskCompletionListener((TaskCompletionListener) entries);
      }
    }
    return entries;
  }

  /** The entries of one task attempt. */
  private static final class TaskEntries implements TaskCompletionListener {
    private final TaskContext context;
    private final Map<String, String> settings;
    private final Producer<byte[], byte[]> producer;
    private final PendingRecords pending = new PendingRecords();

    /** The first failure, set by the producer's thread. */
    private volatile Exception failure;

    TaskEntries(TaskContext context, Map<String, String> settings) {
      this.context = context;
      this.settings = settings;
      this.producer = SharedProducers.get(settings);
    }

    @Override
    public void onTaskCompletion(TaskContext ended) {
      TASK.remove();
      if (ended.isFailed() || ended.isInterrupted()) {
        return; // its records are read again
      }
      flush();
    }

    @SuppressWarnings("FutureReturnValueIgnored") // failIfBroken() reports it
    void send(ProducerRecord<byte[], byte[]> entry) {
      pending.add();
      producer.send(
          entry,
          (written, e) -> {
            failure = failure != null ? failure : e;
            pending.done();
          });
    }

    void flush() {
      pending.flush(producer);
      failIfBroken();
    }

    void failIfBroken() {
      if (failure != null) {
        throw new IllegalStateException("cannot write the processing log", failure);
      }
    }
  }

  private static String cut(String text) {
    return text == null || text.length() <= MAX_MESSAGE ? text : text.substring(0, MAX_MESSAGE);
  }

  private static String base64(byte[] record) {
    return record == null || record.length > MAX_RECORD
        ? null
        : Base64.getEncoder().encodeToString(record);
  }

  private static String text(byte[] record) {
    return record == null || record.length > MAX_RECORD
        ? null
        : new String(record, StandardCharsets.UTF_8);
  }

  @Override
  public String toString() {
    return "processing log " + topic;
  }
}
