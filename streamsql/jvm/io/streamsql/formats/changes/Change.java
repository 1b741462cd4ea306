package io.streamsql.formats.changes;

/**
 * The change of one row in a database. Rows hold values in the order of the reader's columns;
 * missing values are null.
 */
public final class Change {
  private final String op;
  private final Object[] before;
  private final Object[] after;
  private final Object source;
  private final Long time;

  Change(String op, Object[] before, Object[] after, Object source, Long time) {
    this.op = op;
    this.before = before;
    this.after = after;
    this.source = source;
    this.time = time;
  }

  /** c (created), r (read by a snapshot), u (updated), d (deleted), t (its table truncated). */
  public String op() {
    return op;
  }

  /** The row before the change; null: there was none, or the record lacks it. */
  public Object[] before() {
    return before;
  }

  /** The row after the change; null: there is none. */
  public Object[] after() {
    return after;
  }

  /** The source of the change, a struct's row or null. */
  public Object source() {
    return source;
  }

  /** Ms since the epoch, or null. */
  public Long time() {
    return time;
  }
}
