package io.streamsql.operators.aggregates;

import io.streamsql.operators.OrderedRow;

/** A group's current aggregates: a packed row, null if the group no longer exists. */
public final class AggregatedRow extends OrderedRow {
  private static final long serialVersionUID = 1L;
  private byte[] key;
  private Long start;
  private Long end;
  private byte[] headers;
  private byte[] row;

  /** For Spark. */
  public AggregatedRow() {}

  /**
   * @param time ms since the epoch, as are start and end, the bounds of the group's window, which
   *     are null without a window
   * @param headers of the row that changed the group, packed; null: none
   */
  AggregatedRow(byte[] key, long time, Long start, Long end, byte[] headers, byte[] row) {
    super(key, time);
    this.key = key;
    this.start = start;
    this.end = end;
    this.headers = headers;
    this.row = row;
  }

  public byte[] getKey() {
    return key;
  }

  public void setKey(byte[] key) {
    this.key = key;
  }

  public Long getStart() {
    return start;
  }

  public void setStart(Long start) {
    this.start = start;
  }

  public Long getEnd() {
    return end;
  }

  public void setEnd(Long end) {
    this.end = end;
  }

  public byte[] getHeaders() {
    return headers;
  }

  public void setHeaders(byte[] headers) {
    this.headers = headers;
  }

  public byte[] getRow() {
    return row;
  }

  public void setRow(byte[] row) {
    this.row = row;
  }
}
