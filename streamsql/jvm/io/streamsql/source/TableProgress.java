package io.streamsql.source;

/** The position of a real-time batch in a partition of a table: its reader writes, streams read. */
final class TableProgress {
  private volatile Tail tail;

  /** The next record of the tail; written before {@link #offset}, read after it. */
  private long number = -1;

  private volatile long offset;

  TableProgress(long offset) {
    this.offset = offset;
  }

  /** Its reader has begun. */
  void readsOf(Tail found) {
    tail = found;
  }

  /**
   * All before this offset has been read and passed on.
   *
   * @param next the next record of the tail; negative: it is not read there
   */
  void hasPassedOn(long before, long next) {
    number = next;
    offset = before;
  }

  /** Whether all before an offset has been passed on. */
  boolean hasReached(long end) {
    return offset >= end || (number >= 0 && tail.isReadTo(number, end));
  }
}
