package io.streamsql.expressions;

import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A struct as {@link PackedRows#pack} encodes it. Generated code writes the values of a struct that
 * is created inline as bytes directly, without the struct and a second copy.
 */
public final class PackedStruct extends Expression implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final String ROWS = PackedRows.class.getName();
  private final Expression child;
  private final StructType type;
  private final PackedRows rows;

  /**
   * Spark copies its trees by this constructor.
   *
   * @param type of the struct
   */
  public PackedStruct(Expression child, StructType type) {
    this.child = child;
    this.type = type;
    this.rows = new PackedRows(type);
  }

  @Override
  public Seq<Expression> children() {
    return seq(List.of(child));
  }

  @Override
  public boolean nullable() {
    return child.nullable();
  }

  @Override
  public boolean foldable() {
    return child.foldable();
  }

  @Override
  public DataType dataType() {
    return DataTypes.BinaryType;
  }

  @Override
  public Object eval(InternalRow input) {
    return rows.pack((InternalRow) child.eval(input));
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    if (child instanceof CreateNamedStruct struct) {
      ExprCode row =
          GenerateUnsafeProjection$.MODULE$.createCode(context, struct.valExprs(), false);
      String bytes = "byte[] %s = %s.bytes(%s);".formatted(code.value(), ROWS, row.value());
      return code.copy(block(row, bytes), FalseLiteral$.MODULE$, code.value());
    }
    ExprCode struct = child.genCode(context);
    String packer = context.addReferenceObj("rows", rows, ROWS);
    String bytes =
        "byte[] %s = %s ? null : %s.pack(%s);"
            .formatted(code.value(), struct.isNull(), packer, struct.value());
    return code.copy(block(struct, bytes), struct.isNull(), code.value());
  }

  private static CodeBlock block(ExprCode before, String text) {
    return new CodeBlock(seq(List.of(before.code() + "\n" + text)), seq(List.<JavaCode>of()));
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new PackedStruct(children.head(), type);
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int place) {
    return place == 0 ? child : type;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof PackedStruct;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PackedStruct of && child.equals(of.child) && type.equals(of.type);
  }

  @Override
  public int hashCode() {
    return Objects.hash(child, type);
  }
}
