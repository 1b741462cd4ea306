package io.streamsql.expressions;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprValue;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.catalyst.expressions.codegen.Inline;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * A struct as {@link PackedRows#pack} has it. Where the struct is made for that alone, of values
 * without parts, generated code writes them as bytes at once: there is neither the struct nor a
 * second copy of it.
 */
public final class PackedStruct extends Expression implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Set<DataType> NUMBERS =
      Set.of(
          DataTypes.BooleanType,
          DataTypes.ByteType,
          DataTypes.ShortType,
          DataTypes.IntegerType,
          DataTypes.LongType,
          DataTypes.FloatType,
          DataTypes.DoubleType,
          DataTypes.DateType,
          DataTypes.TimestampType,
          DataTypes.TimestampNTZType);

  private static final String WRITER = UnsafeRowWriter.class.getName();
  private static final String ROWS = PackedRows.class.getName();
  private final Expression child;
  private final StructType type;
  private final PackedRows rows;

  /**
   * As Spark's trees want to copy it.
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
    if (child instanceof CreateNamedStruct struct && isFlat()) {
      return ofValues(CollectionConverters.asJava(struct.valExprs()), context, code);
    }
    ExprCode struct = child.genCode(context);
    String packer = context.addReferenceObj("rows", rows, ROWS);
    String text =
        struct.code()
            + "\nbyte[] %s = %s ? null : %s.pack(%s);"
                .formatted(code.value(), struct.isNull(), packer, struct.value());
    return code.copy(block(text), struct.isNull(), code.value());
  }

  private ExprCode ofValues(List<Expression> values, CodegenContext context, ExprCode code) {
    long sized = values.stream().filter(value -> !isNumber(value.dataType())).count();
    String made = "new %s(%d, %d)".formatted(WRITER, values.size(), sized * 32);
    String writer = context.addMutableState(WRITER, "packer", new Begin(made), false, true);
    List<String> steps = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      steps.add(written(values.get(i), i, writer, context));
    }
    String all =
        context.splitExpressionsWithCurrentInputs(
            seq(steps),
            "pack",
            context.splitExpressionsWithCurrentInputs$default$3(),
            context.splitExpressionsWithCurrentInputs$default$4(),
            context.splitExpressionsWithCurrentInputs$default$5(),
            context.splitExpressionsWithCurrentInputs$default$6());
    String text =
        "%s.reset();\n%s.zeroOutNullBytes();\n%s\nbyte[] %s = %s.bytes(%s.getRow());"
            .formatted(writer, writer, all, code.value(), ROWS, writer);
    return code.copy(block(text), FalseLiteral$.MODULE$, code.value());
  }

  /** As Spark's GenerateUnsafeProjection writes a column. */
  private static String written(
      Expression expression, int place, String writer, CodegenContext context) {
    ExprCode value = expression.genCode(context);
    DataType type = expression.dataType();
    String further = "";
    String nothing = "%s.setNullAt(%d);".formatted(writer, place);
    if (type instanceof DecimalType decimal) {
      further = ", %d, %d".formatted(decimal.precision(), decimal.scale());
      if (decimal.precision() > Decimal.MAX_LONG_DIGITS()) {
        nothing =
            "%s.write(%d, (%s) null%s);".formatted(writer, place, Decimal.class.getName(), further);
      }
    }
    String something = "%s.write(%d, %s%s);".formatted(writer, place, value.value(), further);
    ExprValue isNull = value.isNull();
    if (isNull.equals(FalseLiteral$.MODULE$)) {
      return value.code() + "\n" + something;
    }
    return value.code() + "\nif (%s) { %s } else { %s }".formatted(isNull, nothing, something);
  }

  /** Whether all columns are written by one call. */
  private boolean isFlat() {
    for (DataType column :
        CollectionConverters.asJava(type).stream().map(f -> f.dataType()).toList()) {
      boolean text = column instanceof StringType || column instanceof BinaryType;
      if (!isNumber(column) && !text && !(column instanceof DecimalType)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isNumber(DataType type) {
    return NUMBERS.contains(type);
  }

  /** Code that is taken as it is. */
  private static CodeBlock block(String text) {
    return new CodeBlock(seq(List.of("", "")), seq(List.<JavaCode>of(new Inline(text))));
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

  /** What a field of the generated class begins with. */
  private static final class Begin extends AbstractFunction1<String, String> {
    private final String value;

    Begin(String value) {
      this.value = value;
    }

    @Override
    public String apply(String name) {
      return "%s = %s;".formatted(name, value);
    }
  }
}
