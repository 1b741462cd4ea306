package io.streamsql.expressions;

import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.monitoring.ProcessingLog;
import java.io.Serializable;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;

/** The action for rows that violate a constraint. */
public final class ConstraintCheck implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Drops the row in addition to counting it. */
  enum OnViolation {
    DROP_ROW,
    TO_ERRORS,
    FAIL
  }

  private final String constraint;
  private final String message;
  private final OnViolation onViolation;
  private final ProcessingLog log;
  private final String step;

  private ConstraintCheck(
      String constraint, String message, OnViolation onViolation, ProcessingLog log, String step) {
    this.constraint = constraint;
    this.message = message;
    this.onViolation = onViolation;
    this.log = log;
    this.step = step;
  }

  public static ConstraintCheck of(
      String constraint, String message, String onViolation, ProcessingLog log, String step) {
    return new ConstraintCheck(constraint, message, OnViolation.valueOf(onViolation), log, step);
  }

  /**
   * Whether the row passes, as the only field of the struct: false is counted as a violation, null
   * as a condition that failed, which is in the log.
   *
   * @throws CodedException if the constraint is one that stops the query
   */
  public boolean meets(InternalRow satisfied) {
    if (satisfied.isNullAt(0)) {
      return false;
    }
    if (satisfied.getBoolean(0)) {
      return true;
    }
    String place = log.violated(constraint);
    switch (onViolation) {
      case FAIL -> {
        String by = place == null ? "" : ", by the record at " + place;
        throw new CodedException(
            ErrorCode.CONSTRAINT_VIOLATED,
            message + by + "; ON VIOLATION FAIL stops the query",
            Map.of("constraint", constraint));
      }
      case TO_ERRORS -> log.recordProcessingError(step, message);
      case DROP_ROW -> {}
    }
    return false;
  }

  @Override
  public String toString() {
    return "constraint " + constraint;
  }
}
