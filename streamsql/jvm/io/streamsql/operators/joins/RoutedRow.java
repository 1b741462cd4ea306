package io.streamsql.operators.joins;

import io.streamsql.operators.KeyedRow;

/** A message from an operator to a key of the next one. */
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
