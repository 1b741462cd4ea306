package io.streamsql.operators;

/** A row as a {@link KeyedOperator} takes it, besides its key. */
public final class KeyedRow extends OrderedRow {
  private static final long serialVersionUID = 1L;
  private int side;
  private byte[] headers;
  private byte[] row;

  /** Which of the operator's inputs it comes from: 0, 1, .. */
  public int getSide() {
    return side;
  }

  public void setSide(int side) {
    this.side = side;
  }

  /** The packed headers of the record; null: none. */
  public byte[] getHeaders() {
    return headers;
  }

  public void setHeaders(byte[] headers) {
    this.headers = headers;
  }

  /** The packed columns ({@code PackedRows}); null: the record has no value. */
  public byte[] getRow() {
    return row;
  }

  public void setRow(byte[] row) {
    this.row = row;
  }
}
