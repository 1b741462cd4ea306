package io.streamsql.source;

/** How far a real-time batch has read a partition of a table: its reader writes, streams look. */
final class TableProgress {
  private volatile Tail tail;

  /** Which record of the tail is read next; written before {@link #offset}, read after it. */
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
   * @param next which record of the tail is next; negative: it is not read there
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
