package io.streamsql.functions;

import java.math.BigDecimal;
import java.math.BigInteger;
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
  private static final String OVERFLOW = "value overflows numeric format";

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

  /** The greatest common divisor, and 0 of two zeros. */
  public static Long gcd(long a, long b, boolean strict) {
    return whole(BigInteger.valueOf(a).gcd(BigInteger.valueOf(b)), strict);
  }

  /** The least common multiple. */
  public static Long lcm(long a, long b, boolean strict) {
    BigInteger one = BigInteger.valueOf(a);
    BigInteger divisor = one.gcd(BigInteger.valueOf(b));
    return divisor.signum() == 0
        ? (Long) 0L
        : whole(one.divide(divisor).multiply(BigInteger.valueOf(b)).abs(), strict);
  }

  /** The factorial, of at most 38 digits. */
  public static Decimal factorial(long n, boolean strict) {
    if (n < 0 || n > 33) {
      String message = n < 0 ? "factorial of a negative number is undefined" : OVERFLOW;
      return none(message, strict);
    }
    BigInteger product = BigInteger.ONE;
    for (long i = 2; i <= n; i++) {
      product = product.multiply(BigInteger.valueOf(i));
    }
    return Decimal.apply(new BigDecimal(product), PRECISION, 0);
  }

  private static Long whole(BigInteger value, boolean strict) {
    if (value.bitLength() > 63) {
      none("bigint out of range", strict);
      return null;
    }
    return value.longValue();
  }

  private static Decimal numeric(BigDecimal exact, boolean strict) {
    BigDecimal value = exact.setScale(SCALE, RoundingMode.HALF_UP);
    return value.precision() > PRECISION
        ? none(OVERFLOW, strict)
        : Decimal.apply(value, PRECISION, SCALE);
  }

  private static Decimal none(String message, boolean strict) {
    if (strict) {
      throw new ArithmeticException(message);
    }
    return null;
  }
}
