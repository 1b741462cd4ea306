package io.streamsql.operators.joins;

import java.io.Serializable;

/**
 * Which rows of two streams meet: a left row and a right one from `before` ms before to `after` ms
 * after it. All times in ms.
 *
 * <p>A row can be met by rows that are as late as the grace allows; when the stream's time has
 * passed that, it is gone.
 */
final class JoinWindow implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final long SMALLEST_BUCKET = 1000;

  /** So many ms before and after are no bound: no sum of them and a time overflows. */
  private static final long FOREVER = 1L << 58;

  private final long before;
  private final long after;
  private final long grace;

  JoinWindow(long before, long after, long grace) {
    this.before = before;
    this.after = after;
    this.grace = grace;
  }

  /** Whether rows meet whatever their times are, so that none is ever gone. */
  boolean isForever() {
    return before >= FOREVER && after >= FOREVER;
  }

  /** The first time that a row of the other side may have to meet one of this side and time. */
  long from(int side, long time) {
    return time - (side == 0 ? before : after);
  }

  /** The last one. */
  long to(int side, long time) {
    return time + (side == 0 ? after : before);
  }

  /** Rows of this time and before are gone, once the stream has come to `streamTime`. */
  long goneUntil(long streamTime) {
    return streamTime - (before + after + grace);
  }

  /** The stream's time at which rows of that time can be forgotten: gone, and closed. */
  long forgottenAt(long time) {
    return time + before + after + grace + 1;
  }

  /** The time of the rows that {@link #forgottenAt} gives this time for. */
  long timeForgottenAt(long streamTime) {
    return streamTime - before - after - grace - 1;
  }

  /** The stream's time at which no row can come any more that the row could meet. */
  long closedAt(int side, long time) {
    return to(side, time) + grace + 1;
  }

  /** The time of the row of this side that {@link #closedAt} gives this time for. */
  long timeClosedAt(int side, long streamTime) {
    return streamTime - 1 - grace - (side == 0 ? after : before);
  }

  /** Rows are stored by spans of time of this length: a row's partners lie in two or three. */
  long bucket() {
    return Math.max(before + after + 1, SMALLEST_BUCKET);
  }
}
