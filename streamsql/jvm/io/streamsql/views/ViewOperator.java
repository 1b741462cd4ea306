package io.streamsql.views;

import java.io.Serializable;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * An operator with state, over rows whose columns it does not know: they are packed. It sees the
 * rows of a batch by key, and no order among those of a key, unless it says otherwise.
 */
public abstract class ViewOperator implements Serializable {
  private static final long serialVersionUID = 1L;

  /** What an operator keeps without an item of its own. */
  static final byte[] ONLY = new byte[0];

  /** The columns of its results. */
  abstract StructType results();

  /** Whether the first column of the results is the key by which its input is placed. */
  boolean givesKey() {
    return false;
  }

  /** Whether it keeps anything. */
  boolean hasState() {
    return true;
  }

  /**
   * What the rows of one key change, each row valid until the next. The state is up to date once
   * the last one is taken.
   */
  abstract Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store);

  /** One of several keys under which a store has what belongs to a key. */
  static byte[] prefixed(int prefix, byte[] key) {
    byte[] found = new byte[key.length + 1];
    found[0] = (byte) prefix;
    System.arraycopy(key, 0, found, 1, key.length);
    return found;
  }

  /** Columns of the names and types, in turns. */
  static StructType columns(Object... namesAndTypes) {
    StructType columns = new StructType();
    for (int i = 0; i < namesAndTypes.length; i += 2) {
      columns = columns.add((String) namesAndTypes[i], (DataType) namesAndTypes[i + 1]);
    }
    return columns;
  }

  /** Columns of rows with weights. */
  static final StructType WEIGHTED =
      columns("weight", DataTypes.LongType, "row", DataTypes.BinaryType);
}
