package io.streamsql;

import java.io.Serializable;

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
   * @param cause the row whose place and time it takes over: changes stay in the order of the log
   */
  ChangedRow(byte[] key, KeyedRow cause, byte[] before, byte[] after) {
    this.key = key;
    this.time = cause.getTime();
    this.partition = cause.getPartition();
    this.offset = cause.getOffset();
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
