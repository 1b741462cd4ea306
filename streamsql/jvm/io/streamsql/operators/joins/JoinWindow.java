package io.streamsql.operators.joins;

import java.io.Serializable;

/**
 * The time range of a stream-stream join: a right row joins a left row from `before` ms before to
 * `after` ms after it. All times in ms.
 *
 * <p>A row can be joined by rows that are as late as the grace allows; when the stream time has
 * passed that, it is deleted.
 */
final class JoinWindow implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final long SMALLEST_BUCKET = 1000;

  /** This many ms before and after are unbounded: no sum of them and a time overflows. */
  private static final long FOREVER = 1L << 58;

  private final long before;
  private final long after;
  private final long grace;

  JoinWindow(long before, long after, long grace) {
    this.before = before;
    this.after = after;
    this.grace = grace;
  }

  /** Whether rows join whatever their times are, so that none is ever deleted. */
  boolean isForever() {
    return before >= FOREVER && after >= FOREVER;
  }

  /** The first time that a partner of a row of this side and time may have. */
  long from(int side, long time) {
    return time - (side == 0 ? before : after);
  }

  /** The last one. */
  long to(int side, long time) {
    return time + (side == 0 ? after : before);
  }

  /** At this stream time, the time up to which rows are deleted. */
  long goneUntil(long streamTime) {
    return streamTime - (before + after + grace);
  }

  /** The stream time at which rows of that time can be deleted: expired, and closed. */
  long forgottenAt(long time) {
    return time + before + after + grace + 1;
  }

  /** The inverse of {@link #forgottenAt}. */
  long timeForgottenAt(long streamTime) {
    return streamTime - before - after - grace - 1;
  }

  /** The stream time from which on no partner of the row can arrive. */
  long closedAt(int side, long time) {
    return to(side, time) + grace + 1;
  }

  /** The inverse of {@link #closedAt} for this side. */
  long timeClosedAt(int side, long streamTime) {
    return streamTime - 1 - grace - (side == 0 ? after : before);
  }

  /** The length of the time buckets of stored rows: a row's partners are in two or three. */
  long bucket() {
    return Math.max(before + after + 1, SMALLEST_BUCKET);
  }
}
