package io.streamsql;

import java.io.Serializable;
import java.util.Arrays;

/** The row that has a rank of its group from now on, packed; null where none has it any more. */
public final class RankedRow implements Serializable {
  private static final long serialVersionUID = 1L;
  private byte[] key;
  private long rank;
  private long time;
  private int partition;
  private long offset;
  private byte[] row;

  /** For Spark. */
  public RankedRow() {}

  /**
   * @param rank from 1
   * @param time ms since the epoch
   */
  RankedRow(byte[] key, long rank, long time, byte[] row) {
    this.key = key;
    this.rank = rank;
    this.time = time;
    this.partition = Arrays.hashCode(key);
    this.offset = KeyedOperator.place();
    this.row = row;
  }

  public byte[] getKey() {
    return key;
  }

  public void setKey(byte[] key) {
    this.key = key;
  }

  public long getRank() {
    return rank;
  }

  public void setRank(long rank) {
    this.rank = rank;
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

  public byte[] getRow() {
    return row;
  }

  public void setRow(byte[] row) {
    this.row = row;
  }
}
