package io.streamsql.functions;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.apache.spark.sql.types.Decimal;

/**
 * Arithmetic of NUMERIC without a precision, for {@code StandardFunctions}. Spark's own rounds the
 * results of wide operands to six digits behind the point, and has no other number than BIGINT for
 * a DOUBLE without its fraction.
 */
public final class Numerics {
  public static final int PRECISION = 38;
  public static final int SCALE = 16;

  private Numerics() {}

  public static Decimal add(Decimal a, Decimal b, boolean strict) {
    return numeric(a.toJavaBigDecimal().add(b.toJavaBigDecimal()), strict);
  }

  public static Decimal subtract(Decimal a, Decimal b, boolean strict) {
    return numeric(a.toJavaBigDecimal().subtract(b.toJavaBigDecimal()), strict);
  }

  public static Decimal multiply(Decimal a, Decimal b, boolean strict) {
    return numeric(a.toJavaBigDecimal().multiply(b.toJavaBigDecimal()), strict);
  }

  public static Decimal divide(Decimal a, Decimal b, boolean strict) {
    BigDecimal by = b.toJavaBigDecimal();
    if (by.signum() == 0) {
      return none("division by zero", strict);
    }
    return numeric(a.toJavaBigDecimal().divide(by, SCALE, RoundingMode.HALF_UP), strict);
  }

  /** The value without its digits after the first ones behind the point. */
  public static Decimal truncate(Decimal value, int digits, boolean strict) {
    return numeric(value.toJavaBigDecimal().setScale(digits, RoundingMode.DOWN), strict);
  }

  /** The value without its fraction. */
  public static double truncate(double value) {
    return value < 0 ? Math.ceil(value) : Math.floor(value);
  }

  private static Decimal numeric(BigDecimal exact, boolean strict) {
    BigDecimal value = exact.setScale(SCALE, RoundingMode.HALF_UP);
    return value.precision() > PRECISION
        ? none("value overflows numeric format", strict)
        : Decimal.apply(value, PRECISION, SCALE);
  }

  private static Decimal none(String message, boolean strict) {
    if (strict) {
      throw new ArithmeticException(message);
    }
    return null;
  }
}
