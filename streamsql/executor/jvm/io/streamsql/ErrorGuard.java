package io.streamsql;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Makes an expression null as a whole if any part of it that was evaluated has failed, with one
 * entry in the processing log: so COALESCE(1/0, 5) is null, not 5.
 */
public final class ErrorGuard implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The first failure since the last expression was finished. */
  private static final ThreadLocal<String[]> FAILURE = ThreadLocal.withInitial(() -> new String[1]);

  private final ProcessingLog log;
  private final String step;

  private ErrorGuard(ProcessingLog log, String step) {
    this.log = log;
    this.step = step;
  }

  public static ErrorGuard of(ProcessingLog log, String step) {
    return new ErrorGuard(log, step);
  }

  /** A null of the type (Spark's JSON) whose evaluation notes that the expression has failed. */
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

  public Object note(UTF8String message) {
    String[] failure = FAILURE.get();
    if (failure[0] == null) {
      failure[0] = message == null ? "failed" : message.toString();
    }
    return null;
  }

  public InternalRow check(InternalRow row, UTF8String text) {
    String[] failure = FAILURE.get();
    if (failure[0] == null) {
      return row;
    }
    String message = failure[0];
    failure[0] = null;
    log.recordProcessingError(step, "Error computing expression " + text + ": " + message);
    return null;
  }

  @Override
  public String toString() {
    return "guard";
  }
}
