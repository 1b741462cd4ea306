package io.streamsql.operators.patterns;

import io.streamsql.operators.OrderedRow;

/** The output of a match: see {@link MatchResults}. */
public final class MatchRow extends OrderedRow {
  private static final long serialVersionUID = 1L;
  private byte[] made;

  /** For Spark. */
  public MatchRow() {}

  /**
   * @param key whose rows match
   * @param time of the last of them
   */
  MatchRow(byte[] key, long time, byte[] made) {
    super(key, time);
    this.made = made;
  }

  public byte[] getMade() {
    return made;
  }

  public void setMade(byte[] made) {
    this.made = made;
  }
}
