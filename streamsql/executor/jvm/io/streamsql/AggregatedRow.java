package io.streamsql;

import java.io.Serializable;
import java.util.Arrays;

/** A group's aggregates as they are now: a packed row, null where the group is no more. */
public final class AggregatedRow implements Serializable {
  private static final long serialVersionUID = 1L;
  private byte[] key;
  private long time;
  private Long start;
  private Long end;
  private int partition;
  private long offset;
  private byte[] row;

  /** For Spark. */
  public AggregatedRow() {}

  /**
   * @param time ms since the epoch, as are start and end, the bounds of the group's window, which
   *     are null where it has none
   */
  AggregatedRow(byte[] key, long time, Long start, Long end, byte[] row) {
    this.key = key;
    this.time = time;
    this.start = start;
    this.end = end;
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

  public long getTime() {
    return time;
  }

  public void setTime(long time) {
    this.time = time;
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
