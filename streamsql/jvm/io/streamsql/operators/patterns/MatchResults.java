package io.streamsql.operators.patterns;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The output of a match: some of its rows, then aggregates over rows, each packed itself. */
public final class MatchResults implements Serializable {
  private static final long serialVersionUID = 1L;
  private final List<RowPlace> places;
  private final Totals totals;
  private final int width;
  private transient UnsafeProjection packed;

  /**
   * @param places the rows: {@link RowPlace#parse}
   * @param width the number of a row's columns
   */
  public MatchResults(String places, Totals totals, int width) {
    this.places = RowPlace.parse(places);
    this.totals = totals;
    this.width = width;
  }

  /** The rows in the output. */
  List<RowPlace> places() {
    return places;
  }

  /** BINARY columns, packed: a row or null for each place, the results of aggregates. */
  byte[] of(MatchRows rows, long start, Labels labels) {
    Object[] parts = new Object[places.size() + totals.size()];
    for (int i = 0; i < places.size(); i++) {
      long row = places.get(i).of(labels, start);
      parts[i] = row < rows.first() ? null : rows.values(row);
    }
    if (totals.size() > 0) {
      aggregate(rows, start, labels.variables(), parts);
    }
    if (packed == null) {
      StructType type = new StructType();
      for (int i = 0; i < parts.length; i++) {
        type = type.add("f" + i, DataTypes.BinaryType);
      }
      packed = UnsafeProjection.create(type);
    }
    return packed.apply(new GenericInternalRow(parts)).copy().getBytes();
  }

  private void aggregate(MatchRows rows, long start, int[] variables, Object[] parts) {
    InternalRow[] buffers = new InternalRow[totals.size()];
    for (int i = 0; i < buffers.length; i++) {
      buffers[i] = totals.load(i, null);
    }
    UnsafeRow row = new UnsafeRow(width);
    for (int at = 0; at < variables.length; at++) {
      byte[] values = rows.values(start + at);
      row.pointTo(values, values.length);
      for (int i = 0; i < buffers.length; i++) {
        if (totals.takes(i, variables[at])) {
          totals.update(i, buffers[i], row);
        }
      }
    }
    for (int i = 0; i < buffers.length; i++) {
      parts[places.size() + i] = totals.result(i, buffers[i]);
    }
  }
}
