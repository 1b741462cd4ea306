package io.streamsql.views;

import io.streamsql.expressions.PackedRows;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;

/**
 * What the rows of a batch add to the sums of groups (key BINARY, sums BINARY) as changes of those
 * sums: (key, weight, sums). The first sum is the number of rows; a group without rows is none.
 */
public final class Accumulators extends ViewOperator {
  private static final long serialVersionUID = 1L;
  private final StructType sums;
  private final boolean always;
  private transient UnsafeProjection packing;

  /**
   * @param sums the type (Spark's JSON) of the packed sums: each BIGINT or DECIMAL, none null
   * @param always whether a group without rows is a group, too
   */
  public Accumulators(String sums, boolean always) {
    this.sums = (StructType) DataType.fromJson(sums);
    this.always = always;
  }

  @Override
  StructType results() {
    return columns(
        "key", DataTypes.BinaryType, "weight", DataTypes.LongType, "sums", DataTypes.BinaryType);
  }

  @Override
  boolean givesKey() {
    return true;
  }

  @Override
  Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store) {
    byte[] before = store.get(key, ONLY);
    byte[] after = before;
    while (rows.hasNext()) {
      byte[] more = rows.next().getBinary(1);
      after = after == null ? more : sum(after, more);
    }
    boolean remains = always || unpack(after).getLong(0) != 0;
    if (remains) {
      store.put(key, ONLY, after);
    } else if (before != null) {
      store.remove(key, ONLY);
    }
    List<Object[]> changes = new ArrayList<>();
    if (before == null || !Arrays.equals(before, after)) {
      if (before != null) {
        changes.add(new Object[] {key, -1L, before});
      }
      if (remains) {
        changes.add(new Object[] {key, 1L, after});
      }
    }
    return new Results(3).rows(changes);
  }

  private byte[] sum(byte[] one, byte[] other) {
    UnsafeRow left = unpack(one);
    UnsafeRow right = unpack(other);
    Object[] values = new Object[sums.length()];
    for (int i = 0; i < values.length; i++) {
      if (sums.apply(i).dataType() instanceof DecimalType type) {
        Decimal sum =
            left.getDecimal(i, type.precision(), type.scale())
                .$plus(right.getDecimal(i, type.precision(), type.scale()));
        if (!sum.changePrecision(type.precision(), type.scale())) {
          throw new ArithmeticException("a sum has more digits than " + type.simpleString());
        }
        values[i] = sum;
      } else {
        values[i] = Math.addExact(left.getLong(i), right.getLong(i));
      }
    }
    if (packing == null) {
      packing = UnsafeProjection.create(sums);
    }
    return PackedRows.bytes(packing.apply(new GenericInternalRow(values)));
  }

  private UnsafeRow unpack(byte[] bytes) {
    UnsafeRow row = new UnsafeRow(sums.length());
    row.pointTo(bytes, bytes.length);
    return row;
  }
}
