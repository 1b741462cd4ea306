package io.streamsql.operators.tables;

import io.streamsql.operators.OrderedRow;

/** The row that has a number of its group from now on, packed; null if no row has it any more. */
public final class RankedRow extends OrderedRow {
  private static final long serialVersionUID = 1L;
  private byte[] key;
  private long number;
  private long rank;
  private byte[] row;

  /** For Spark. */
  public RankedRow() {}

  /**
   * @param number from 1
   * @param rank from 1: shared by rows that are equal in their order
   * @param time ms since the epoch
   */
  RankedRow(byte[] key, long number, long rank, long time, byte[] row) {
    super(key, time);
    this.key = key;
    this.number = number;
    this.rank = rank;
    this.row = row;
  }

  public byte[] getKey() {
    return key;
  }

  public void setKey(byte[] key) {
    this.key = key;
  }

  public long getNumber() {
    return number;
  }

  public void setNumber(long number) {
    this.number = number;
  }

  public long getRank() {
    return rank;
  }

  public void setRank(long rank) {
    this.rank = rank;
  }

  public byte[] getRow() {
    return row;
  }

  public void setRow(byte[] row) {
    this.row = row;
  }
}
