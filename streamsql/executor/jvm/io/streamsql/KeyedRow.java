package io.streamsql;

import java.io.Serializable;

/**
 * A row as a {@link KeyedOperator} takes it, besides its key. A bean, so that Spark reads it without
 * boxing.
 */
public final class KeyedRow implements Serializable {
  private static final long serialVersionUID = 1L;
  private int side;
  private long time;
  private int partition;
  private long offset;
  private byte[] headers;
  private byte[] row;

  /** Which of the operator's inputs it comes from: 0, 1, .. */
  public int getSide() {
    return side;
  }

  public void setSide(int side) {
    this.side = side;
  }

  /** Event time, ms since the epoch. */
  public long getTime() {
    return time;
  }

  public void setTime(long time) {
    this.time = time;
  }

  /** With the offset: the row's place among those of its input. */
  public int getPartition() {
    return partition;
  }

  public void setPartition(int partition) {
    this.partition = partition;
  }

  public long getOffset() {
    return offset;
  }

  public void setOffset(long offset) {
    this.offset = offset;
  }

  /** The packed headers of the record; null: none. */
  public byte[] getHeaders() {
    return headers;
  }

  public void setHeaders(byte[] headers) {
    this.headers = headers;
  }

  /** The packed columns ({@link PackedRows}); null: the record has no value. */
  public byte[] getRow() {
    return row;
  }

  public void setRow(byte[] row) {
    this.row = row;
  }
}
