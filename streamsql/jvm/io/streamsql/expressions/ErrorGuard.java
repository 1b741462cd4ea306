package io.streamsql.expressions;

import io.streamsql.monitoring.ProcessingLog;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Makes an expression null as a whole if any evaluated part of it has failed, with one entry in the
 * processing log: COALESCE(1/0, 5) is null, not 5.
 *
 * <p>A call that is the argument of another call and fails is null by itself, so that
 * COALESCE(PARSE_DATE(..), ..) can fall back: such a part is evaluated between {@link #begin} and
 * {@link #end}. Its failure is logged with the whole expression, since Spark may evaluate the part
 * more than once.
 */
public final class ErrorGuard implements Serializable {
  private static final long serialVersionUID = 1L;

  /**
   * The first failure since the last finished expression, and the first within the current part.
   */
  private static final class Failures {
    String whole;
    String contained;
  }

  private static final ThreadLocal<Failures> FAILURES = ThreadLocal.withInitial(Failures::new);

  private final ProcessingLog log;
  private final String step;

  private ErrorGuard(ProcessingLog log, String step) {
    this.log = log;
    this.step = step;
  }

  public static ErrorGuard of(ProcessingLog log, String step) {
    return new ErrorGuard(log, step);
  }

  /** A null of the type (Spark's JSON); its evaluation records that the expression has failed. */
  public Column fail(Column message, String type) {
    return Expressions.call(this, "note", DataType.fromJson(type), List.of(message), false);
  }

  /**
   * The only field of the struct, or null and a log entry naming the expression if its evaluation
   * has failed. A struct, because a null of a primitive type does not reach a Java argument.
   */
  public Column finish(Column struct, String type, Column text) {
    DataType row = new StructType().add("value", DataType.fromJson(type));
    return Expressions.call(this, "check", row, List.of(struct, text), false).getField("value");
  }

  /** Goes before the part, in a struct with it, for {@link #contain}. */
  public Column opening() {
    return Expressions.call(this, "begin", DataTypes.StringType, List.of(), false);
  }

  /** The second field of the struct, of the type, or null if its evaluation has failed. */
  public Column contain(Column struct, String type, Column text) {
    DataType row =
        new StructType().add("outer", DataTypes.StringType).add("value", DataType.fromJson(type));
    return Expressions.call(this, "end", row, List.of(struct, text), false).getField("value");
  }

  /** The failure outside of the part, set aside until the part ends. */
  public UTF8String begin() {
    Failures failures = FAILURES.get();
    String outer = failures.whole;
    failures.whole = null;
    return outer == null ? null : UTF8String.fromString(outer);
  }

  public InternalRow end(InternalRow row, UTF8String text) {
    Failures failures = FAILURES.get();
    String inner = failures.whole;
    failures.whole = row.isNullAt(0) ? null : row.getUTF8String(0).toString();
    if (inner == null) {
      return row;
    }
    if (failures.contained == null) {
      failures.contained = message(text, inner);
    }
    return null;
  }

  public Object note(UTF8String message) {
    Failures failures = FAILURES.get();
    if (failures.whole == null) {
      failures.whole = message == null ? "failed" : message.toString();
    }
    return null;
  }

  public InternalRow check(InternalRow row, UTF8String text) {
    Failures failures = FAILURES.get();
    if (failures.whole == null && failures.contained == null) {
      return row;
    }
    boolean failed = failures.whole != null;
    String message = failed ? message(text, failures.whole) : failures.contained;
    failures.whole = null;
    failures.contained = null;
    log.recordProcessingError(step, message);
    return failed ? null : row;
  }

  private static String message(UTF8String expression, String failure) {
    return "Error computing expression " + expression + ": " + failure;
  }

  @Override
  public String toString() {
    return "guard";
  }
}
