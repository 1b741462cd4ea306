package io.streamsql.views;

import io.streamsql.views.Weights.Weighted;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Changes of two sides (key BINARY, side INT, weight BIGINT, row BINARY) as changes (weight, left,
 * right), where a side that a result lacks is null.
 */
abstract class SidesOfKeys extends ViewOperator {
  private static final long serialVersionUID = 1L;

  @Override
  StructType results() {
    return columns(
        "weight", DataTypes.LongType, "left", DataTypes.BinaryType, "right", DataTypes.BinaryType);
  }

  @Override
  Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store) {
    Weights ofLeft = new Weights();
    Weights ofRight = new Weights();
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      (row.getInt(1) == 0 ? ofLeft : ofRight).add(row.getBinary(3), row.getLong(2));
    }
    return changes(key, ofLeft.rows(), ofRight.rows(), store);
  }

  /** What the changes of both sides under one key change. */
  abstract Iterator<InternalRow> changes(
      byte[] key, List<Weighted> left, List<Weighted> right, ViewStore store);
}
