package io.streamsql.source;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * The newest records of one partition, read from Kafka once for all of its readers in this JVM.
 *
 * <p>A reader that is too far behind reads by itself until it is near. Fetching never runs further
 * ahead of the foremost reader than half of the capacity.
 */
final class Tail {
  private static final int MOST_RECORDS = 4096;
  private static final long MOST_BYTES = 2 << 20;

  final TopicPartition partition;

  /** Kafka's id of the topic; null: unknown. */
  private final String topicId;

  /** A ring of records, from number {@code first} to before {@code end}. */
  @SuppressWarnings({"unchecked", "rawtypes"})
  private final ConsumerRecord<byte[], byte[]>[] ring = new ConsumerRecord[MOST_RECORDS];

  private long first;
  private long end;
  private long bytes;

  /** The number of the record after the last one that any reader has taken. */
  private long foremost;

  private long unreadBytes;

  /** All records from this offset to before {@code position} are held. */
  private long from;

  private long position;

  /** Kafka has been read up to here; transaction markers lie between. */
  private long looked;

  /** The offset to seek to; negative: none. */
  private long seek;

  private int readers;
  private long leftNanos;
  private boolean broken;

  /** Begins at an offset; nothing is fetched yet. */
  Tail(TopicPartition partition, String topicId, long offset) {
    this.partition = partition;
    this.topicId = topicId;
    beginAt(offset);
  }

  private void beginAt(long offset) {
    for (; first < end; first++) {
      ring[place(first)] = null;
    }
    bytes = unreadBytes = 0;
    foremost = end;
    from = position = seek = offset;
    looked = 0;
  }

  /** Whether its records are of this topic, and not of another one with the same name. */
  boolean isOf(String id) {
    return Objects.equals(topicId, id);
  }

  // -- for the fetching thread --------------------------------------------------------------------

  /** The offset to seek to, returned once per change; negative: none. */
  synchronized long takeSeek() {
    long wanted = seek;
    seek = -1;
    return wanted;
  }

  /** Appends records. */
  synchronized void add(List<ConsumerRecord<byte[], byte[]>> found) {
    if (seek >= 0 || found.isEmpty()) {
      return; // Any others were fetched before the seek.
    }
    for (ConsumerRecord<byte[], byte[]> row : found) {
      long size = size(row);
      while (end - first >= MOST_RECORDS || (end > first && bytes + size > MOST_BYTES)) {
        forgetFirst();
      }
      ring[place(end++)] = row;
      bytes += size;
      unreadBytes += size;
    }
    position = found.get(found.size() - 1).offset() + 1;
    notifyAll();
  }

  /** Kafka has been read up to this offset, as of after the found records were added. */
  synchronized void look(long offset) {
    if (seek < 0) {
      looked = offset;
    }
  }

  private void forgetFirst() {
    ConsumerRecord<byte[], byte[]> gone = ring[place(first)];
    ring[place(first)] = null;
    bytes -= size(gone);
    from = gone.offset() + 1;
    if (foremost == first) {
      foremost++;
      unreadBytes -= size(gone);
    }
    first++;
  }

  /** Whether enough unread records are held. */
  synchronized boolean isFull() {
    return end - foremost > MOST_RECORDS / 2 || unreadBytes > MOST_BYTES / 2;
  }

  /** No record follows: all readers continue by themselves. */
  synchronized void breakOff() {
    broken = true;
    notifyAll();
  }

  /** Makes all waiting readers check whether to continue. */
  synchronized void rouse() {
    notifyAll();
  }

  /** Whether it has had no reader for that long. */
  synchronized boolean isLeft(long nanos) {
    return readers == 0 && System.nanoTime() - leftNanos > nanos;
  }

  // -- for the readers ----------------------------------------------------------------------------

  synchronized int readers() {
    return readers;
  }

  synchronized void enter() {
    readers++;
  }

  synchronized void leave() {
    readers--;
    leftNanos = System.nanoTime();
  }

  /**
   * The number from which to {@link #take} the records of this offset and after; negative if they
   * are not held. Without another reader, the tail moves there.
   */
  synchronized long find(long offset) {
    if (broken) {
      return -1;
    }
    if (offset < from || offset > position + MOST_RECORDS) {
      if (readers > 1) {
        return -1;
      }
      beginAt(offset);
    }
    long low = first;
    long high = end;
    while (low < high) {
      long middle = (low + high) / 2;
      if (ring[place(middle)].offset() < offset) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Whether a reader at this offset finds all following records here. */
  synchronized boolean holds(long offset) {
    return !broken && from <= offset && offset <= position;
  }

  /**
   * The record of a number; waits until it arrives, until then, or while waiting is wanted.
   *
   * @return null if it has not arrived in time, or will not arrive: see {@link #has}
   */
  synchronized ConsumerRecord<byte[], byte[]> take(
      long number, long deadline, BooleanSupplier waits) throws InterruptedException {
    while (number == end && !broken && waits.getAsBoolean()) {
      long left = deadline - System.nanoTime();
      if (left <= 0) {
        return null;
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    if (!has(number) || number == end) {
      return null;
    }
    ConsumerRecord<byte[], byte[]> found = ring[place(number)];
    for (; foremost <= number; foremost++) {
      unreadBytes -= size(ring[place(foremost)]);
    }
    return found;
  }

  /** The number of the record that comes next. */
  synchronized long end() {
    return end;
  }

  /** Whether a reader at this number has all records of before the offset. */
  synchronized boolean isReadTo(long number, long offset) {
    return number == end && looked >= offset;
  }

  /**
   * Two offsets: the one after the last record held, and the one up to which Kafka has no further
   * record.
   */
  synchronized long[] gap() {
    return new long[] {position, Math.max(position, looked)};
  }

  /** Whether the record of a number is held, or will be. */
  synchronized boolean has(long number) {
    return !broken && first <= number && number <= end;
  }

  private static int place(long number) {
    return (int) (number % MOST_RECORDS);
  }

  private static long size(ConsumerRecord<byte[], byte[]> row) {
    return Math.max(0, row.serializedKeySize()) + Math.max(0, row.serializedValueSize()) + 64L;
  }
}
