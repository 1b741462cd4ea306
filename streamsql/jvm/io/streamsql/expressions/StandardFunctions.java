package io.streamsql.expressions;

import io.streamsql.functions.Intervals;
import io.streamsql.functions.Jsonb;
import io.streamsql.functions.Matches;
import io.streamsql.functions.Numerics;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * An extension of Spark that adds functions of standard SQL, for plans that are texts. A null
 * argument gives null without a call. The last argument of a method that is not total says whether
 * a call without a value is an error, as in a SELECT, or null, as in a view.
 */
public final class StandardFunctions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  private record Method(Class<?> owner, String name, DataType result, boolean isTotal) {
    Method(Class<?> owner, String name, DataType result) {
      this(owner, name, result, false);
    }
  }

  private static final DataType TEXT = DataTypes.StringType;
  private static final DataType TEXTS = DataTypes.createArrayType(TEXT);
  private static final DataType TRUTH = DataTypes.BooleanType;
  private static final DataType NUMERIC =
      DataTypes.createDecimalType(Numerics.PRECISION, Numerics.SCALE);
  private static final DataType WHOLE = DataTypes.createDecimalType(Numerics.PRECISION, 0);
  private static final DataType ROWS_OF_TEXTS = DataTypes.createArrayType(TEXTS, false);
  private static final DataType INTERVAL =
      new StructType()
          .add("months", DataTypes.IntegerType)
          .add("days", DataTypes.IntegerType)
          .add("micros", DataTypes.LongType);
  private static final DataType ENTRIES =
      DataTypes.createArrayType(
          new StructType().add("key", TEXT, false).add("value", TEXT, true), false);

  private static final Map<String, Method> METHODS =
      Map.ofEntries(
          Map.entry("numeric_add", new Method(Numerics.class, "add", NUMERIC)),
          Map.entry("numeric_subtract", new Method(Numerics.class, "subtract", NUMERIC)),
          Map.entry("numeric_multiply", new Method(Numerics.class, "multiply", NUMERIC)),
          Map.entry("numeric_divide", new Method(Numerics.class, "divide", NUMERIC)),
          Map.entry("numeric_truncate", new Method(Numerics.class, "truncate", NUMERIC)),
          Map.entry("gcd", new Method(Numerics.class, "gcd", DataTypes.LongType)),
          Map.entry("lcm", new Method(Numerics.class, "lcm", DataTypes.LongType)),
          Map.entry("factorial", new Method(Numerics.class, "factorial", WHOLE)),
          Map.entry("age", new Method(Intervals.class, "age", INTERVAL, true)),
          Map.entry("justified", new Method(Intervals.class, "justified", INTERVAL, true)),
          Map.entry("match_groups", new Method(Matches.class, "groups", ROWS_OF_TEXTS)),
          Map.entry("match_count", new Method(Matches.class, "count", DataTypes.IntegerType)),
          Map.entry("match_place", new Method(Matches.class, "place", DataTypes.IntegerType)),
          Map.entry("match_part", new Method(Matches.class, "part", TEXT)),
          Map.entry("match_replaced", new Method(Matches.class, "replace", TEXT)),
          Map.entry("jsonb_insert", new Method(Jsonb.class, "insert", TEXT)),
          Map.entry("ceil", new Method(Math.class, "ceil", DataTypes.DoubleType, true)),
          Map.entry("floor", new Method(Math.class, "floor", DataTypes.DoubleType, true)),
          Map.entry("truncate", new Method(Numerics.class, "truncate", DataTypes.DoubleType, true)),
          Map.entry("jsonb", new Method(Jsonb.class, "canonical", TEXT)),
          Map.entry("jsonb_at", new Method(Jsonb.class, "at", TEXT)),
          Map.entry("jsonb_element", new Method(Jsonb.class, "element", TEXT)),
          Map.entry("jsonb_text_at", new Method(Jsonb.class, "textAt", TEXT)),
          Map.entry("jsonb_contains", new Method(Jsonb.class, "contains", TRUTH)),
          Map.entry("jsonb_exists", new Method(Jsonb.class, "exists", TRUTH)),
          Map.entry("jsonb_concat", new Method(Jsonb.class, "concat", TEXT)),
          Map.entry("jsonb_delete", new Method(Jsonb.class, "delete", TEXT)),
          Map.entry("jsonb_set", new Method(Jsonb.class, "set", TEXT)),
          Map.entry("jsonb_pretty", new Method(Jsonb.class, "pretty", TEXT)),
          Map.entry("jsonb_strip_nulls", new Method(Jsonb.class, "stripNulls", TEXT)),
          Map.entry("jsonb_elements", new Method(Jsonb.class, "elements", TEXTS)),
          Map.entry("jsonb_entries", new Method(Jsonb.class, "entries", ENTRIES)));

  /** For Spark. */
  public StandardFunctions() {}

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    METHODS.forEach((name, method) -> extensions.injectFunction(described("sql_" + name, method)));
    return BoxedUnit.UNIT;
  }

  private static Tuple3<
          FunctionIdentifier, ExpressionInfo, scala.Function1<Seq<Expression>, Expression>>
      described(String name, Method method) {
    ExpressionInfo info = new ExpressionInfo(method.owner().getName(), name);
    return new Tuple3<>(
        new FunctionIdentifier(name),
        info,
        new AbstractFunction1<>() {
          @Override
          public Expression apply(Seq<Expression> arguments) {
            return call(method, CollectionConverters.asJava(arguments));
          }
        });
  }

  private static Expression call(Method method, List<Expression> arguments) {
    List<Expression> all = new ArrayList<>(arguments);
    if (!method.isTotal()) {
      all.add(Literal$.MODULE$.apply(SQLConf.get().ansiEnabled()));
    }
    List<AbstractDataType> anyTypes = List.of();
    return new StaticInvoke(
        method.owner(),
        method.result(),
        method.name(),
        CollectionConverters.asScala(all).toSeq(),
        CollectionConverters.asScala(anyTypes).toSeq(),
        true,
        true,
        true,
        Option.empty());
  }
}
