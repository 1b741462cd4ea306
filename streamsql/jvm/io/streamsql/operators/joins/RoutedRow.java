package io.streamsql.operators.joins;

import io.streamsql.operators.KeyedRow;

/** What an operator sends to the next one, with the key that it goes to. */
public final class RoutedRow extends KeyedRow {
  private static final long serialVersionUID = 1L;
  private byte[] key;

  /** For Spark. */
  public RoutedRow() {}

  /**
   * @param from the key of the sender: of several senders the earliest row comes first
   */
  RoutedRow(byte[] from, byte[] key, long time, byte[] headers, byte[] row) {
    super(from, time, headers, row);
    this.key = key;
  }

  public byte[] getKey() {
    return key;
  }

  public void setKey(byte[] key) {
    this.key = key;
  }
}
