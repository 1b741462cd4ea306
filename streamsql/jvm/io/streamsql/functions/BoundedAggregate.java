package io.streamsql.functions;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.catalyst.types.PhysicalDataType$;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.math.Ordering;

/**
 * An aggregate that keeps at most {@code limit} values of a group and returns them as an array, for
 * all types. Spark's collect_list and collect_set are unbounded, and Spark has no top-k aggregate.
 */
public final class BoundedAggregate extends TypedImperativeAggregate<BoundedBuffer>
    implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Which values are kept, and their order. */
  enum Kind {
    /** The first values, null included, in order of arrival. */
    COLLECT_LIST,
    /** The first distinct values, null included, in order of arrival. */
    COLLECT_SET,
    /** The largest first; no nulls. */
    TOPK,
    /** The largest first, each once; no nulls. */
    TOPK_DISTINCT,
    /** Of structs: those with the largest first field, if it is not null. */
    TOPK_BY,
    /** Of structs (order, value): the values with the least order, in order. */
    EARLIEST,
    /** Of structs (order, value): the values with the greatest order, in order. */
    LATEST,
    /**
     * As COLLECT_LIST, of structs (value, sign INT): a negative sign removes the last such value.
     */
    SIGNED_LIST,
    /** Of structs (value, sign INT): the distinct values, null too, each with the sum of signs. */
    COUNTED
  }

  private final Expression child;
  private final Kind kind;
  private final int limit;
  private final boolean ignoreNulls;
  private final int mutableOffset;
  private final int inputOffset;
  private transient UnsafeProjection toElement;
  private transient Comparator<UnsafeRow> order;

  /** Public, with the arguments of {@link #productElement}: Spark copies its trees by it. */
  public BoundedAggregate(
      Expression child,
      Kind kind,
      int limit,
      boolean ignoreNulls,
      int mutableOffset,
      int inputOffset) {
    this.child = child;
    this.kind = kind;
    this.limit = limit;
    this.ignoreNulls = ignoreNulls;
    this.mutableOffset = mutableOffset;
    this.inputOffset = inputOffset;
  }

  /**
   * The aggregate as a column.
   *
   * @param kind a name of {@link Kind}; the kinds of structs need a struct as input
   * @param ignoreNulls for EARLIEST and LATEST: leaves out null values
   */
  public static Column of(Column input, String kind, int limit, boolean ignoreNulls) {
    Expression child = ExpressionUtils.expression(input);
    return ExpressionUtils.column(
        new BoundedAggregate(child, Kind.valueOf(kind), limit, ignoreNulls, 0, 0)
            .toAggregateExpression());
  }

  @Override
  public BoundedBuffer createAggregationBuffer() {
    return switch (kind) {
      case COLLECT_LIST -> new BoundedBuffer.First(limit, false);
      case COLLECT_SET -> new BoundedBuffer.First(limit, true);
      case SIGNED_LIST -> new SignedBuffer.Values(limit);
      case COUNTED -> new SignedBuffer.Counts(limit);
      case TOPK_DISTINCT -> new BoundedBuffer.Smallest(limit, order(), true);
      default -> new BoundedBuffer.Smallest(limit, order(), false);
    };
  }

  @Override
  public BoundedBuffer update(BoundedBuffer buffer, InternalRow input) {
    Object value = child.eval(input);
    if (buffer instanceof SignedBuffer signed) {
      if (value == null) {
        return buffer; // a row that does not count
      }
      InternalRow pair = (InternalRow) value;
      Object part = pair.isNullAt(0) ? null : pair.get(0, valueType());
      signed.add(element(part), pair.getInt(1));
    } else if (!isSkipped(value)) {
      buffer.add(element(value));
    }
    return buffer;
  }

  /** The type of an element: for signed kinds the value alone. */
  private DataType valueType() {
    boolean signed = kind == Kind.SIGNED_LIST || kind == Kind.COUNTED;
    return signed ? ((StructType) child.dataType()).fields()[0].dataType() : child.dataType();
  }

  private boolean isSkipped(Object value) {
    return switch (kind) {
      case COLLECT_LIST, COLLECT_SET, SIGNED_LIST, COUNTED -> false;
      case TOPK, TOPK_DISTINCT -> value == null;
      case TOPK_BY -> value == null || ((InternalRow) value).isNullAt(0);
      case EARLIEST, LATEST -> value == null || (ignoreNulls && ((InternalRow) value).isNullAt(1));
    };
  }

  private UnsafeRow element(Object value) {
    if (toElement == null) {
      toElement = UnsafeProjection.create(new DataType[] {valueType()});
    }
    return toElement.apply(new GenericInternalRow(new Object[] {value})).copy();
  }

  @Override
  public BoundedBuffer merge(BoundedBuffer buffer, BoundedBuffer input) {
    buffer.merge(input);
    return buffer;
  }

  @Override
  public Object eval(BoundedBuffer buffer) {
    List<Object> values = new ArrayList<>(buffer.elements().size());
    DataType type = valueType();
    if (buffer instanceof SignedBuffer.Counts counts) {
      counts.forEach(
          (element, count) -> {
            Object value = element.isNullAt(0) ? null : element.get(0, type);
            values.add(new GenericInternalRow(new Object[] {value, count}));
          });
      return new GenericArrayData(values.toArray());
    }
    for (UnsafeRow element : buffer.elements()) {
      boolean ordered = kind == Kind.EARLIEST || kind == Kind.LATEST;
      values.add(
          ordered
              ? element.getStruct(0, 2).get(1, elementType())
              : element.isNullAt(0) ? null : element.get(0, type));
    }
    if (kind == Kind.LATEST) {
      Collections.reverse(values); // it keeps the greatest first
    }
    return new GenericArrayData(values.toArray());
  }

  @Override
  public byte[] serialize(BoundedBuffer buffer) {
    return buffer.serialize();
  }

  @Override
  public BoundedBuffer deserialize(byte[] state) {
    BoundedBuffer buffer = createAggregationBuffer();
    buffer.addAll(state);
    return buffer;
  }

  /** Least first for EARLIEST, greatest first for all others. */
  private Comparator<UnsafeRow> order() {
    if (order == null) {
      boolean byField = kind == Kind.TOPK_BY || kind == Kind.EARLIEST || kind == Kind.LATEST;
      DataType type = child.dataType();
      DataType key = byField ? ((StructType) type).fields()[0].dataType() : type;
      int width = byField ? ((StructType) type).length() : 0;
      Ordering<Object> ascending = PhysicalDataType$.MODULE$.ordering(key);
      Comparator<UnsafeRow> least =
          byField
              ? (a, b) ->
                  ascending.compare(
                      a.getStruct(0, width).get(0, key), b.getStruct(0, width).get(0, key))
              : (a, b) -> ascending.compare(a.get(0, key), b.get(0, key));
      order = kind == Kind.EARLIEST ? least : least.reversed();
    }
    return order;
  }

  private DataType elementType() {
    return switch (kind) {
      case EARLIEST, LATEST -> ((StructType) child.dataType()).fields()[1].dataType();
      case COUNTED ->
          new StructType().add("value", valueType(), true).add("count", DataTypes.LongType, false);
      default -> valueType();
    };
  }

  @Override
  public DataType dataType() {
    return new ArrayType(elementType(), true);
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public String prettyName() {
    return kind.name().toLowerCase(java.util.Locale.ROOT);
  }

  // The methods of a node of Catalyst's trees.

  @Override
  public Seq<Expression> children() {
    return CollectionConverters.asScala(List.of(child)).toSeq();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return copy(children.apply(0), mutableOffset, inputOffset);
  }

  @Override
  public int mutableAggBufferOffset() {
    return mutableOffset;
  }

  @Override
  public ImperativeAggregate withNewMutableAggBufferOffset(int offset) {
    return copy(child, offset, inputOffset);
  }

  @Override
  public int inputAggBufferOffset() {
    return inputOffset;
  }

  @Override
  public ImperativeAggregate withNewInputAggBufferOffset(int offset) {
    return copy(child, mutableOffset, offset);
  }

  private BoundedAggregate copy(Expression newChild, int newMutableOffset, int newInputOffset) {
    return new BoundedAggregate(
        newChild, kind, limit, ignoreNulls, newMutableOffset, newInputOffset);
  }

  @Override
  public int productArity() {
    return 6;
  }

  @Override
  public Object productElement(int n) {
    return switch (n) {
      case 0 -> child;
      case 1 -> kind;
      case 2 -> limit;
      case 3 -> ignoreNulls;
      case 4 -> mutableOffset;
      case 5 -> inputOffset;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof BoundedAggregate;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof BoundedAggregate that
        && child.equals(that.child)
        && kind == that.kind
        && limit == that.limit
        && ignoreNulls == that.ignoreNulls
        && mutableOffset == that.mutableOffset
        && inputOffset == that.inputOffset;
  }

  @Override
  public int hashCode() {
    return Objects.hash(child, kind, limit, ignoreNulls, mutableOffset, inputOffset);
  }
}
