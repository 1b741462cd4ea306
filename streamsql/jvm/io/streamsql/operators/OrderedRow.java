package io.streamsql.operators;

import java.io.Serializable;
import java.util.Arrays;

/**
 * A row on its way between operators, which take those of a key by time and, of the same time, by
 * place. Its subclasses are beans, so that Spark reads and writes them without boxing.
 */
public abstract class OrderedRow implements Serializable {
  private static final long serialVersionUID = 1L;
  private long time;
  private int partition;
  private long offset;

  /** For Spark. */
  protected OrderedRow() {}

  /**
   * A row that an operator makes now.
   *
   * @param sender the key it makes it for, whose rows come in the order in which they are made
   * @param time ms since the epoch
   */
  protected OrderedRow(byte[] sender, long time) {
    this.time = time;
    this.partition = Arrays.hashCode(sender);
    this.offset = KeyedOperator.place();
  }

  /** Has the time and the place of another. */
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
