package io.streamsql.monitoring;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The input record that this thread processes, set by the decoder for errors later in the same
 * task. After a shuffle there is none: that task never saw the record.
 */
public final class CurrentRecord {
  private static final ThreadLocal<CurrentRecord> CURRENT =
      ThreadLocal.withInitial(CurrentRecord::new);

  private long task = -1;
  private String queryId;
  private AtomicLong position;
  private QueryMetrics metrics;
  private UTF8String topic;
  private int partition;
  private long offset;
  private byte[] value;

  private CurrentRecord() {}

  public static void set(
      String queryId, UTF8String topic, int partition, long offset, byte[] key, byte[] value) {
    CurrentRecord record = CURRENT.get();
    long task = currentTask();
    boolean samePlace =
        record.task == task
            && record.partition == partition
            && record.position != null
            && queryId.equals(record.queryId)
            && topic.equals(record.topic);
    record.task = task;
    record.queryId = queryId;
    record.topic = topic;
    record.partition = partition;
    record.offset = offset;
    record.value = value;
    if (!samePlace) {
      record.position = ReadOffsets.slot(topic, partition);
      record.metrics = QueryMetrics.of(queryId);
    }
    record.metrics.read((key == null ? 0 : key.length) + (value == null ? 0 : value.length));
    record.position.lazySet(offset + 1);
  }

  /** The record of this task, or null. Valid until the task decodes its next one. */
  public static CurrentRecord get() {
    CurrentRecord record = CURRENT.get();
    return record.topic != null && record.task == currentTask() ? record : null;
  }

  /** A record that was read before. */
  public static CurrentRecord at(String topic, int partition, long offset) {
    CurrentRecord record = new CurrentRecord();
    record.topic = UTF8String.fromString(topic);
    record.partition = partition;
    record.offset = offset;
    return record;
  }

  private static long currentTask() {
    TaskContext task = TaskContext.get();
    return task == null ? -1 : task.taskAttemptId();
  }

  public String topic() {
    return topic.toString();
  }

  public int partition() {
    return partition;
  }

  public long offset() {
    return offset;
  }

  byte[] value() {
    return value;
  }
}
