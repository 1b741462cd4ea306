package io.streamsql;

import java.io.Serializable;
import java.util.Arrays;

/** What an operator sends to the next one, by the key that it goes to: a {@link KeyedRow}'s columns. */
public final class RoutedRow implements Serializable {
  private static final long serialVersionUID = 1L;
  private byte[] key;
  private int side;
  private long time;
  private int partition;
  private long offset;
  private byte[] headers;
  private byte[] row;

  /** For Spark. */
  public RoutedRow() {}

  /**
   * @param from the key of the sender: of several senders the earliest row comes first
   */
  RoutedRow(byte[] from, byte[] key, long time, byte[] headers, byte[] row) {
    this.key = key;
    this.time = time;
    this.partition = Arrays.hashCode(from);
    this.offset = KeyedOperator.place();
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

  public long getTime() {
    return time;
  }

  public void setTime(long time) {
    this.time = time;
  }

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
