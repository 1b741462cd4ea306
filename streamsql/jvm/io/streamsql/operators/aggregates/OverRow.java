package io.streamsql.operators.aggregates;

import io.streamsql.operators.OrderedRow;

/** A row with its OVER results: BINARY columns, each packed itself or null. */
public final class OverRow extends OrderedRow {
  private static final long serialVersionUID = 1L;
  private byte[] headers;
  private byte[] row;
  private byte[] made;

  /** For Spark. */
  public OverRow() {}

  /**
   * @param key whose rows are in order
   */
  OverRow(byte[] key, long time, byte[] headers, byte[] row, byte[] made) {
    super(key, time);
    this.headers = headers;
    this.row = row;
    this.made = made;
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

  public byte[] getMade() {
    return made;
  }

  public void setMade(byte[] made) {
    this.made = made;
  }
}
