package io.streamsql.operators;

import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Limits the memory of the rows that are held per key, as a share of the heap for all such keys of
 * this JVM: a task that exceeds it fails before the heap is exhausted for all others.
 */
final class HeldRows {
  private static final AtomicLong ALL = new AtomicLong();
  private static final long ROOM = Runtime.getRuntime().maxMemory() * 2 / 5;
  // Keys with less, nearly all, are not counted.
  private static final long STEP = 1 << 20;
  // A bean, three arrays and the references to them.
  private static final long EACH = 160;

  private final AtomicLong all;
  private final long room;
  private long own;
  private long reported;
  private int count;

  HeldRows() {
    this(ALL, ROOM);
  }

  HeldRows(AtomicLong all, long room) {
    this.all = all;
    this.room = room;
  }

  void add(KeyedRow row) {
    own += EACH + length(row.getRow()) + length(row.getHeaders());
    count++;
    if (own - reported >= STEP) {
      tell();
    }
  }

  /** Returns the memory. */
  void release() {
    all.addAndGet(-reported);
    reported = 0;
    own = 0;
  }

  private void tell() {
    if (reported == 0 && TaskContext.get() != null) {
      TaskCompletionListener listener = task -> release();
      TaskContext.get().addTaskCompletionListener(listener);
    }
    long taken = all.addAndGet(own - reported);
    if (taken > room) {
      all.addAndGet(reported - own);
      throw new CodedException(
          ErrorCode.MEMORY_LIMIT,
          String.format(
              "%,d records of one key in a batch take %,d MB, those of all keys in progress "
                  + "%,d MB; the limit is %,d MB",
              count, own >> 20, taken >> 20, room >> 20));
    }
    reported = own;
  }

  private static int length(byte[] bytes) {
    return bytes == null ? 0 : bytes.length;
  }
}
