package io.streamsql.functions;

import java.io.Serializable;
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
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The exact number of distinct values of a group, nulls excluded. A row costs the same in a large
 * group as in a small one while the group is held as an object. Its state is that of a COLLECT_SET,
 * which computed such counts in earlier versions: their state stays valid.
 */
public final class DistinctCount extends TypedImperativeAggregate<DistinctValues>
    implements Serializable {
  private static final long serialVersionUID = 1L;
  private final Expression child;
  private final int mutableOffset;
  private final int inputOffset;
  private transient UnsafeProjection toValue;

  /** Public, with the arguments of {@link #productElement}: Spark copies its trees by it. */
  public DistinctCount(Expression child, int mutableOffset, int inputOffset) {
    this.child = child;
    this.mutableOffset = mutableOffset;
    this.inputOffset = inputOffset;
  }

  /** The aggregate as a column. */
  public static Column of(Column input) {
    Expression child = ExpressionUtils.expression(input);
    return ExpressionUtils.column(new DistinctCount(child, 0, 0).toAggregateExpression());
  }

  @Override
  public DistinctValues createAggregationBuffer() {
    return DistinctValues.of(UnsafeRow.isFixedLength(child.dataType()));
  }

  @Override
  public DistinctValues update(DistinctValues buffer, InternalRow input) {
    Object value = child.eval(input);
    if (value != null) {
      if (toValue == null) {
        toValue = UnsafeProjection.create(new DataType[] {child.dataType()});
      }
      buffer.add(toValue.apply(new GenericInternalRow(new Object[] {value})));
    }
    return buffer;
  }

  @Override
  public DistinctValues merge(DistinctValues buffer, DistinctValues input) {
    buffer.merge(input);
    return buffer;
  }

  @Override
  public Object eval(DistinctValues buffer) {
    return (long) buffer.size();
  }

  @Override
  public byte[] serialize(DistinctValues buffer) {
    return buffer.serialize();
  }

  @Override
  public DistinctValues deserialize(byte[] state) {
    DistinctValues buffer = createAggregationBuffer();
    buffer.addAll(state);
    return buffer;
  }

  @Override
  public DataType dataType() {
    return DataTypes.LongType;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  /** The name of the state in a checkpoint's layout: that of a COLLECT_SET. */
  @Override
  public String prettyName() {
    return "collect_set";
  }

  // The methods of a node of Catalyst's trees.

  @Override
  public Seq<Expression> children() {
    return CollectionConverters.asScala(List.of(child)).toSeq();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new DistinctCount(children.apply(0), mutableOffset, inputOffset);
  }

  @Override
  public int mutableAggBufferOffset() {
    return mutableOffset;
  }

  @Override
  public ImperativeAggregate withNewMutableAggBufferOffset(int offset) {
    return new DistinctCount(child, offset, inputOffset);
  }

  @Override
  public int inputAggBufferOffset() {
    return inputOffset;
  }

  @Override
  public ImperativeAggregate withNewInputAggBufferOffset(int offset) {
    return new DistinctCount(child, mutableOffset, offset);
  }

  @Override
  public int productArity() {
    return 3;
  }

  @Override
  public Object productElement(int n) {
    return switch (n) {
      case 0 -> child;
      case 1 -> mutableOffset;
      case 2 -> inputOffset;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof DistinctCount;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof DistinctCount that
        && child.equals(that.child)
        && mutableOffset == that.mutableOffset
        && inputOffset == that.inputOffset;
  }

  @Override
  public int hashCode() {
    return Objects.hash(child, mutableOffset, inputOffset);
  }
}
