package io.streamsql.source;

/** How far a real-time batch has read a partition of a table: its reader writes, streams look. */
final class TableProgress {
  /** In place of an offset: nothing has been heard of the partition yet. */
  static final long UNKNOWN = -1;

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

  /** Where the partition ends, as far as is known; or {@link #UNKNOWN}. */
  long end() {
    Tail found = tail;
    return found == null ? UNKNOWN : found.known();
  }

  /** Whether all before an end that is known has been passed on; false of {@link #UNKNOWN}. */
  boolean hasReached(long end) {
    return end != UNKNOWN && (offset >= end || (number >= 0 && tail.isReadTo(number, end)));
  }
}
