package io.streamsql;

import java.io.Serializable;
import java.util.Arrays;

/** What a table's row was and what it has become, packed; null where there was or is none. */
public final class ChangedRow implements Serializable {
  private static final long serialVersionUID = 1L;
  private byte[] key;
  private long time;
  private int partition;
  private long offset;
  private byte[] before;
  private byte[] after;

  /** For Spark. */
  public ChangedRow() {}

  /**
   * @param key whom it concerns
   * @param source the key of the row: changes of one are in order
   */
  ChangedRow(byte[] key, byte[] source, long time, byte[] before, byte[] after) {
    this.key = key;
    this.time = time;
    this.partition = Arrays.hashCode(source);
    this.offset = KeyedOperator.place();
    this.before = before;
    this.after = after;
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

  public byte[] getBefore() {
    return before;
  }

  public void setBefore(byte[] before) {
    this.before = before;
  }

  public byte[] getAfter() {
    return after;
  }

  public void setAfter(byte[] after) {
    this.after = after;
  }
}
