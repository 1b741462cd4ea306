package io.streamsql.operators;

import java.io.Serializable;
import java.util.Arrays;

/**
 * A row between operators, which take the rows of a key by time and, at equal times, by place. Its
 * subclasses are beans, so that Spark reads and writes them without boxing.
 */
public abstract class OrderedRow implements Serializable {
  private static final long serialVersionUID = 1L;
  private long time;
  private int partition;
  private long offset;

  /** For Spark. */
  protected OrderedRow() {}

  /**
   * A row that an operator creates.
   *
   * @param sender the key it is created for, whose rows keep the order of their creation
   * @param time ms since the epoch
   */
  protected OrderedRow(byte[] sender, long time) {
    this.time = time;
    this.partition = Arrays.hashCode(sender);
    this.offset = KeyedOperator.place();
  }

  /** Takes the time and the place of another row. */
  protected OrderedRow(OrderedRow cause) {
    this.time = cause.time;
    this.partition = cause.partition;
    this.offset = cause.offset;
  }

  /** Event time, ms since the epoch. */
  public final long getTime() {
    return time;
  }

  public final void setTime(long time) {
    this.time = time;
  }

  /** With the offset: the row's place among those of its input. */
  public final int getPartition() {
    return partition;
  }

  public final void setPartition(int partition) {
    this.partition = partition;
  }

  public final long getOffset() {
    return offset;
  }

  public final void setOffset(long offset) {
    this.offset = offset;
  }
}
