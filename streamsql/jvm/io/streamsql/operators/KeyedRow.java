package io.streamsql.operators;

/** An input row of a {@link KeyedOperator}, without its key. */
public class KeyedRow extends OrderedRow {
  private static final long serialVersionUID = 1L;
  private int side;
  private byte[] headers;
  private byte[] row;

  /** For Spark. */
  public KeyedRow() {}

  /**
   * A row that an operator creates for input 0 of the next one.
   *
   * @param sender the key it is created for
   * @param time ms since the epoch
   */
  protected KeyedRow(byte[] sender, long time, byte[] headers, byte[] row) {
    super(sender, time);
    this.headers = headers;
    this.row = row;
  }

  /** The number of the operator's input: 0, 1, .. */
  public final int getSide() {
    return side;
  }

  public final void setSide(int side) {
    this.side = side;
  }

  /** The packed headers of the record; null: none. */
  public final byte[] getHeaders() {
    return headers;
  }

  public final void setHeaders(byte[] headers) {
    this.headers = headers;
  }

  /** The packed columns ({@code PackedRows}); null: the record has no value. */
  public final byte[] getRow() {
    return row;
  }

  public final void setRow(byte[] row) {
    this.row = row;
  }
}
