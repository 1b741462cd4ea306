package io.streamsql.operators.joins;

import io.streamsql.operators.OrderedRow;

/**
 * What an operator sends to the next one, by the key that it goes to: a {@code KeyedRow}'s columns.
 */
public final class RoutedRow extends OrderedRow {
  private static final long serialVersionUID = 1L;
  private byte[] key;
  private int side;
  private byte[] headers;
  private byte[] row;

  /** For Spark. */
  public RoutedRow() {}

  /**
   * @param from the key of the sender: of several senders the earliest row comes first
   */
  RoutedRow(byte[] from, byte[] key, long time, byte[] headers, byte[] row) {
    super(from, time);
    this.key = key;
    this.headers = headers;
    this.row = row;
  }

  public byte[] getKey() {
    return key;
  }

  public void setKey(byte[] key) {
    this.key = key;
  }

  public int getSide() {
    return side;
  }

  public void setSide(int side) {
    this.side = side;
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
