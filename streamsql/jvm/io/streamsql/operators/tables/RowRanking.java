package io.streamsql.operators.tables;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.NullsLast$;
import org.apache.spark.sql.catalyst.expressions.SortDirection;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Compares two packed rows: by the columns after the first one, nulls last; then by the first
 * column, a BINARY that identifies rows of a table and is null in rows of a stream.
 */
final class RowRanking implements Comparator<byte[]>, Serializable {
  private static final long serialVersionUID = 1L;
  private final StructType type;
  private final String directions;
  private transient InterpretedOrdering ordering;

  /**
   * @param directions of each column in the ordering a letter, `a` for ascending or `d`
   */
  RowRanking(StructType type, String directions) {
    this.type = type;
    this.directions = directions;
  }

  @Override
  public int compare(byte[] a, byte[] b) {
    UnsafeRow left = row(a);
    UnsafeRow right = row(b);
    int compared = ordering().compare(left, right);
    if (compared != 0 || left.isNullAt(0) || right.isNullAt(0)) {
      return compared;
    }
    return Arrays.compareUnsigned(left.getBinary(0), right.getBinary(0));
  }

  /** Whether the two rows are equal in the order. */
  boolean ties(byte[] a, byte[] b) {
    return ordering().compare(row(a), row(b)) == 0;
  }

  /** The row's identity; null in a stream. */
  byte[] id(byte[] bytes) {
    UnsafeRow row = row(bytes);
    return row.isNullAt(0) ? null : row.getBinary(0);
  }

  private UnsafeRow row(byte[] bytes) {
    UnsafeRow row = new UnsafeRow(type.length());
    row.pointTo(bytes, bytes.length);
    return row;
  }

  private InterpretedOrdering ordering() {
    if (ordering == null) {
      ordering = new InterpretedOrdering(CollectionConverters.asScala(orders()).toSeq());
    }
    return ordering;
  }

  private List<SortOrder> orders() {
    List<SortOrder> orders = new ArrayList<>();
    for (int i = 0; i < directions.length(); i++) {
      Expression column = new BoundReference(i + 1, type.apply(i + 1).dataType(), true);
      SortDirection direction =
          directions.charAt(i) == 'd' ? Descending$.MODULE$ : Ascending$.MODULE$;
      orders.add(
          new SortOrder(
              column,
              direction,
              NullsLast$.MODULE$,
              CollectionConverters.asScala(List.<Expression>of()).toSeq()));
    }
    return orders;
  }
}
