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
 *
 * <p>With numbers, the least of which a group is to have, rows have a weight (BIGINT) and each
 * number (BIGINT), and results each least number; null is none.
 */
public final class Accumulators extends ViewOperator {
  private static final long serialVersionUID = 1L;
  private final StructType sums;
  private final boolean always;
  private final int numbers;
  private transient UnsafeProjection packing;

  /**
   * @param sums the type (Spark's JSON) of the packed sums: each BIGINT or DECIMAL, none null
   * @param always whether a group without rows is a group, too
   * @param numbers how many numbers a row has
   */
  public Accumulators(String sums, boolean always, int numbers) {
    this.sums = (StructType) DataType.fromJson(sums);
    this.always = always;
    this.numbers = numbers;
  }

  @Override
  StructType results() {
    StructType columns =
        columns(
            "key",
            DataTypes.BinaryType,
            "weight",
            DataTypes.LongType,
            "sums",
            DataTypes.BinaryType);
    for (int i = 0; i < numbers; i++) {
      columns = columns.add("e" + i, DataTypes.LongType);
    }
    return columns;
  }

  @Override
  boolean givesKey() {
    return true;
  }

  @Override
  Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store) {
    byte[] own = numbers == 0 ? key : prefixed(0, key);
    byte[] before = store.before(own, ONLY);
    Long[] leastBefore = store.isNew() ? new Long[numbers] : least(key, store);
    byte[] after = before;
    List<Weights> changed = new ArrayList<>();
    for (int i = 0; i < numbers; i++) {
      changed.add(new Weights());
    }
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      byte[] more = row.getBinary(1);
      after = after == null ? more : sum(after, more);
      for (int i = 0; i < numbers; i++) {
        if (!row.isNullAt(i + 3)) {
          changed.get(i).add(Weights.ordered(row.getLong(i + 3)), row.getLong(2));
        }
      }
    }
    boolean remains = always || unpack(after).getLong(0) != 0;
    if (remains) {
      store.put(own, ONLY, after);
    } else if (before != null) {
      store.remove(own, ONLY);
    }
    for (int i = 0; i < numbers; i++) {
      if (store.isNew()) {
        Weights.apply(store, prefixed(i + 1, key), List.of(), changed.get(i).rows());
      } else {
        Weights.apply(store, prefixed(i + 1, key), changed.get(i).rows());
      }
    }
    Long[] leastAfter = least(key, store);
    List<Object[]> changes = new ArrayList<>();
    boolean isSame = Arrays.equals(before, after) && Arrays.equals(leastBefore, leastAfter);
    if (before == null || !isSame) {
      if (before != null) {
        changes.add(result(key, -1L, before, leastBefore));
      }
      if (remains) {
        changes.add(result(key, 1L, after, leastAfter));
      }
    }
    return new Results(3 + numbers).rows(changes);
  }

  private static Object[] result(byte[] key, long weight, byte[] sums, Long[] least) {
    Object[] found = new Object[3 + least.length];
    found[0] = key;
    found[1] = weight;
    found[2] = sums;
    System.arraycopy(least, 0, found, 3, least.length);
    return found;
  }

  /** The least of each number of a group. */
  private Long[] least(byte[] key, ViewStore store) {
    Long[] found = new Long[numbers];
    for (int i = 0; i < numbers; i++) {
      byte[] first = store.first(prefixed(i + 1, key));
      found[i] = first == null ? null : Weights.ofOrdered(first);
    }
    return found;
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
