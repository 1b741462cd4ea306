package io.streamsql.expressions;

import io.streamsql.connector.ChangeDecoder;
import io.streamsql.connector.RecordDecoder;
import io.streamsql.connector.RecordEncoder;
import io.streamsql.lookups.Lookup;
import io.streamsql.monitoring.ProcessingLog;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Columns that call Java objects from Spark's generated code, without a UDF's conversions.
 *
 * <p>Columns that report to the processing log are marked as not deterministic: the optimizer then
 * neither evaluates them twice nor moves a filter across them.
 */
public final class Expressions {
  private Expressions() {}

  /** The record as a struct of {@link RecordDecoder#rowType}, null if it cannot be read. */
  public static Column decode(
      Column key,
      Column value,
      Column topic,
      Column partition,
      Column offset,
      RecordDecoder decoder) {
    List<Column> arguments = List.of(key, value, topic, partition, offset);
    return call(decoder, "decode", decoder.rowType(), arguments, false);
  }

  /** The record's changes as an array of structs, empty if it cannot be read. */
  public static Column changes(
      Column key,
      Column value,
      Column topic,
      Column partition,
      Column offset,
      ChangeDecoder decoder) {
    List<Column> arguments = List.of(key, value, topic, partition, offset);
    return call(decoder, "decode", decoder.rowsType(), arguments, false);
  }

  /** The struct, encoded. */
  public static Column encode(Column struct, RecordEncoder encoder) {
    List<Column> arguments = List.of(struct);
    return call(encoder, "encode", DataTypes.BinaryType, arguments, !encoder.reports());
  }

  /**
   * Rows as JSON, in the column `value`.
   *
   * @param struct what is encoded, an SQL expression over the rows
   * @param type its type, Spark's JSON
   */
  public static Dataset<Row> answer(Dataset<Row> rows, String struct, String type) {
    RecordEncoder encoder = RecordEncoder.of("JSON", Map.of(), type);
    var own = (org.apache.spark.sql.classic.Dataset<Row>) rows;
    return own.sparkSession()
        .withActive(() -> own.select(encode(functions.expr(struct), encoder).as("value")));
  }

  /** A null of the type (Spark's JSON) that, when evaluated, reports the message to the log. */
  public static Column reportNull(Column message, String type, ProcessingLog log, String step) {
    FailureReporter reporter = new FailureReporter(log, step);
    return call(reporter, "report", DataType.fromJson(type), List.of(message), false);
  }

  /** The bytes of a struct of the type (Spark's JSON), for {@link #unpack}. */
  public static Column pack(Column struct, String type) {
    StructType schema = (StructType) DataType.fromJson(type);
    return ExpressionUtils.column(new PackedStruct(ExpressionUtils.expression(struct), schema));
  }

  /** The struct of the type that {@link #pack} encoded. */
  public static Column unpack(Column bytes, String type) {
    StructType schema = (StructType) DataType.fromJson(type);
    return call(new PackedRows(schema), "unpack", schema, List.of(bytes), true);
  }

  /** The largest of the times (BIGINT) that the task has seen up to the row: {@link StreamTime}. */
  public static Column streamTime(Column time) {
    return call(new StreamTime(), "observe", DataTypes.LongType, List.of(time), false);
  }

  /** The wall-clock time at which a row is processed, ms since the epoch. */
  public static Column clock() {
    return callStatic(System.class, "currentTimeMillis", DataTypes.LongType, List.of(), false);
  }

  /** FALSE for a row whose time (BIGINT) is late at its stream's time. */
  public static Column late(Column time, Column streamTime, ProcessingLog log, String step) {
    LateRows rows = new LateRows(log, step);
    return call(rows, "drop", DataTypes.BooleanType, List.of(time, streamTime), false);
  }

  /** TRUE for each row, which is counted as written by the query. */
  public static Column written(String query) {
    return call(new WrittenRows(query), "count", DataTypes.BooleanType, List.of(), false);
  }

  /** Whether the row, whose struct holds the condition's result, may pass the constraint. */
  public static Column meets(Column struct, ConstraintCheck check) {
    return call(check, "meets", DataTypes.BooleanType, List.of(struct), false);
  }

  /** The row that a lookup finds for a struct of key columns; null if there is none. */
  public static Column found(Column key, Lookup lookup) {
    return call(lookup, "find", lookup.rowType(), List.of(key), false);
  }

  /** TRUE; keeps all of the struct's columns alive: {@link WholeRows}. */
  public static Column whole(Column struct) {
    return call(new WholeRows(), "pass", DataTypes.BooleanType, List.of(struct), false);
  }

  /**
   * A static method of {@code io.streamsql.functions}, named `Class.method`, whose result has the
   * type (Spark's JSON). It must be a pure function. A null argument gives null without a call.
   */
  public static Column invoke(String method, String type, List<Column> arguments) {
    int dot = method.indexOf('.');
    Class<?> owner = functions(method.substring(0, dot));
    return callStatic(owner, method.substring(dot + 1), DataType.fromJson(type), arguments, true);
  }

  private static Class<?> functions(String name) {
    try {
      return Class.forName("io.streamsql.functions." + name);
    } catch (ClassNotFoundException e) {
      throw new IllegalArgumentException(e);
    }
  }

  static Column call(
      Object target, String method, DataType result, List<Column> arguments, boolean pure) {
    List<Expression> inputs = arguments.stream().map(ExpressionUtils::expression).toList();
    List<AbstractDataType> anyTypes = List.of();
    Expression object = Literal$.MODULE$.fromObject(target, new ObjectType(target.getClass()));
    return ExpressionUtils.column(
        new Invoke(
            object,
            method,
            result,
            CollectionConverters.asScala(inputs).toSeq(),
            CollectionConverters.asScala(anyTypes).toSeq(),
            false, // called with null arguments too
            true,
            pure));
  }

  /** A null argument gives null without a call. */
  private static Column callStatic(
      Class<?> owner, String method, DataType result, List<Column> arguments, boolean pure) {
    List<Expression> inputs = arguments.stream().map(ExpressionUtils::expression).toList();
    List<AbstractDataType> anyTypes = List.of();
    return ExpressionUtils.column(
        new StaticInvoke(
            owner,
            result,
            method,
            CollectionConverters.asScala(inputs).toSeq(),
            CollectionConverters.asScala(anyTypes).toSeq(),
            true,
            true,
            pure,
            Option.empty()));
  }
}
