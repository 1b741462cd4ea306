package io.streamsql.operators.joins;

import io.streamsql.operators.OrderedRow;

/**
 * A result of a join: the packed rows of both sides, null for a missing one; a table's result
 * without both is a deletion.
 *
 * <p>Its place orders the results of one key; the next operator orders those of several keys by
 * time.
 */
public final class JoinedRow extends OrderedRow {
  private static final long serialVersionUID = 1L;
  private byte[] key;
  private byte[] headers;
  private byte[] left;
  private byte[] right;
  private int causePartition;
  private long causeOffset;

  /** For Spark. */
  public JoinedRow() {}

  JoinedRow(byte[] key, long time, byte[] headers, byte[] left, byte[] right) {
    super(key, time);
    this.key = key;
    this.headers = headers;
    this.left = left;
    this.right = right;
  }

  public byte[] getKey() {
    return key;
  }

  public void setKey(byte[] key) {
    this.key = key;
  }

  /** The packed headers of the row that caused it; null: none. */
  public byte[] getHeaders() {
    return headers;
  }

  public void setHeaders(byte[] headers) {
    this.headers = headers;
  }

  public byte[] getLeft() {
    return left;
  }

  public void setLeft(byte[] left) {
    this.left = left;
  }

  public byte[] getRight() {
    return right;
  }

  public void setRight(byte[] right) {
    this.right = right;
  }

  /** Sets the row that caused this one, if it is known. */
  JoinedRow causedBy(OrderedRow row) {
    causePartition = row.getPartition();
    causeOffset = row.getOffset();
    return this;
  }

  /** The partition of the row that caused this one; with the offset, its place in its input. */
  public int getCausePartition() {
    return causePartition;
  }

  public void setCausePartition(int partition) {
    causePartition = partition;
  }

  public long getCauseOffset() {
    return causeOffset;
  }

  public void setCauseOffset(long offset) {
    causeOffset = offset;
  }
}
