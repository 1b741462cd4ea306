package io.streamsql.operators;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * What the rows of one key take that are in memory at once, as a part of what all such keys of this
 * JVM may take: a task that would take more fails, before the heap is too small for all others.
 */
final class HeldRows {
  private static final AtomicLong ALL = new AtomicLong();
  private static final long ROOM = Runtime.getRuntime().maxMemory() * 2 / 5;
  // Keys with less are not told of: nearly all.
  private static final long STEP = 1 << 20;
  // A bean, three arrays and the places that point to them.
  private static final long EACH = 160;

  private final AtomicLong all;
  private final long room;
  private long own;
  private long told;
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
    if (own - told >= STEP) {
      tell();
    }
  }

  /** They are in memory no longer. */
  void release() {
    all.addAndGet(-told);
    told = 0;
    own = 0;
  }

  private void tell() {
    if (told == 0 && TaskContext.get() != null) {
      TaskCompletionListener listener = task -> release();
      TaskContext.get().addTaskCompletionListener(listener);
    }
    long taken = all.addAndGet(own - told);
    if (taken > room) {
      all.addAndGet(told - own);
      throw new MemoryLimitException(
          String.format(
              "%,d records of one key in a batch take %,d MB, and of all keys that are worked on "
                  + "%,d MB, where there is room for %,d MB",
              count, own >> 20, taken >> 20, room >> 20));
    }
    told = own;
  }

  private static int length(byte[] bytes) {
    return bytes == null ? 0 : bytes.length;
  }
}
