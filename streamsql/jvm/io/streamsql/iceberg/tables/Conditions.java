package io.streamsql.iceberg.tables;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.IsNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Or;

/**
 * Spark's conditions as Iceberg's, by which files are skipped. They hold for each row for which
 * Spark's hold, and perhaps for others: times are rounded down to milliseconds when they are read.
 */
final class Conditions {
  private final Schema named;
  private final Schema there;

  private Conditions(Schema named, Schema there) {
    this.named = named;
    this.there = there;
  }

  /**
   * @param named with the names of the conditions' columns
   * @param there the schema of the snapshot, where columns may have other names
   */
  static Expression of(List<Filter> filters, Schema named, Schema there) {
    Conditions conditions = new Conditions(named, there);
    Expression all = Expressions.alwaysTrue();
    for (Filter filter : filters) {
      all = Expressions.and(all, conditions.of(filter));
    }
    return all;
  }

  private Expression of(Filter filter) {
    if (filter instanceof And both) {
      return Expressions.and(of(both.left()), of(both.right()));
    } else if (filter instanceof Or either) {
      return Expressions.or(of(either.left()), of(either.right()));
    } else if (filter instanceof EqualTo is) {
      return equal(is.attribute(), is.value());
    } else if (filter instanceof GreaterThan is) {
      return least(is.attribute(), is.value());
    } else if (filter instanceof GreaterThanOrEqual is) {
      return least(is.attribute(), is.value());
    } else if (filter instanceof LessThan is) {
      return most(is.attribute(), is.value());
    } else if (filter instanceof LessThanOrEqual is) {
      return most(is.attribute(), is.value());
    } else if (filter instanceof In is) {
      return in(is);
    } else if (filter instanceof IsNull is) {
      return nulls(is.attribute(), true);
    } else if (filter instanceof IsNotNull is) {
      return nulls(is.attribute(), false);
    }
    return Expressions.alwaysTrue();
  }

  private Expression equal(String column, Object value) {
    return Expressions.and(least(column, value), most(column, value));
  }

  private Expression in(In is) {
    Expression any = Expressions.alwaysFalse();
    for (Object value : is.values()) {
      any = Expressions.or(any, equal(is.attribute(), value));
    }
    return any;
  }

  private Expression nulls(String column, boolean none) {
    NestedField field = field(column);
    if (field == null) {
      return Expressions.alwaysTrue();
    }
    return none ? Expressions.isNull(field.name()) : Expressions.notNull(field.name());
  }

  private Expression least(String column, Object value) {
    NestedField field = field(column);
    Object literal = field == null ? null : literal(value, field.type());
    return literal == null
        ? Expressions.alwaysTrue()
        : Expressions.greaterThanOrEqual(field.name(), literal);
  }

  private Expression most(String column, Object value) {
    NestedField field = field(column);
    Object literal = field == null ? null : literal(value, field.type());
    if (literal == null) {
      return Expressions.alwaysTrue();
    }
    return field.type().typeId() == Type.TypeID.TIMESTAMP
        ? Expressions.lessThan(field.name(), (Long) literal + 1_000)
        : Expressions.lessThanOrEqual(field.name(), literal);
  }

  /** Null if the snapshot does not have it, or under another name, or not outside of structs. */
  private NestedField field(String column) {
    NestedField field;
    try {
      field = RowMaker.field(column, named.asStruct(), column);
    } catch (IllegalArgumentException e) {
      return null;
    }
    NestedField then = there.asStruct().field(field.fieldId());
    // A file is read by the present names.
    return then != null && then.name().equals(field.name()) ? then : null;
  }

  /** In Iceberg's form; null for a value or a type whose order is not known to be the same. */
  private static Object literal(Object value, Type type) {
    return switch (type.typeId()) {
      case BOOLEAN -> value instanceof Boolean ? value : null;
      case INTEGER -> value instanceof Integer ? value : null;
      case LONG -> value instanceof Integer || value instanceof Long ? value : null;
      case STRING -> value instanceof String ? value : null;
      case DATE -> days(value);
      case TIMESTAMP -> micros(value);
      case DECIMAL -> value instanceof BigDecimal number ? decimal(number, type) : null;
      default -> null;
    };
  }

  private static BigDecimal decimal(BigDecimal value, Type type) {
    int scale = ((Types.DecimalType) type).scale();
    BigDecimal found = value.setScale(scale, RoundingMode.DOWN);
    return found.compareTo(value) == 0 ? found : null;
  }

  private static Integer days(Object value) {
    LocalDate date = value instanceof Date of ? of.toLocalDate() : null;
    date = value instanceof LocalDate local ? local : date;
    return date == null ? null : Math.toIntExact(date.toEpochDay());
  }

  private static Long micros(Object value) {
    Instant time = value instanceof Timestamp of ? of.toInstant() : null;
    time = value instanceof Instant instant ? instant : time;
    return time == null ? null : ChronoUnit.MICROS.between(Instant.EPOCH, time);
  }
}
