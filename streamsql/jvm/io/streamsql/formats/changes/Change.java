package io.streamsql.formats.changes;

/**
 * What has become of a row of a database. Rows are values in the order of the columns that a reader
 * was made for; what the change does not say is null.
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

  /** The row as it was; null: there was none, or it is not told. */
  public Object[] before() {
    return before;
  }

  /** The row as it is; null: there is none. */
  public Object[] after() {
    return after;
  }

  /** Where it comes from, a struct's row or null. */
  public Object source() {
    return source;
  }

  /** Ms since the epoch, or null. */
  public Long time() {
    return time;
  }
}
