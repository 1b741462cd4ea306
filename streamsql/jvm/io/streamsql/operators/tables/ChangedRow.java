package io.streamsql.operators.tables;

import io.streamsql.operators.KeyedRow;
import io.streamsql.operators.OrderedRow;

/** A table's row before and after a change, packed; null if there was or is none. */
public final class ChangedRow extends OrderedRow {
  private static final long serialVersionUID = 1L;
  private byte[] key;
  private byte[] before;
  private byte[] after;
  private byte[] headers;

  /** For Spark. */
  public ChangedRow() {}

  /**
   * @param key of the row
   * @param cause the row whose headers, place and time it takes over: changes stay in the order of
   *     the log
   */
  ChangedRow(byte[] key, KeyedRow cause, byte[] before, byte[] after) {
    super(cause);
    this.key = key;
    this.before = before;
    this.after = after;
    this.headers = cause.getHeaders();
  }

  public byte[] getKey() {
    return key;
  }

  public void setKey(byte[] key) {
    this.key = key;
  }

  public byte[] getBefore() {
    return before;
  }

  public void setBefore(byte[] before) {
    this.before = before;
  }

  public byte[] getAfter() {
    return after;
  }

  public void setAfter(byte[] after) {
    this.after = after;
  }

  public byte[] getHeaders() {
    return headers;
  }

  public void setHeaders(byte[] headers) {
    this.headers = headers;
  }
}
