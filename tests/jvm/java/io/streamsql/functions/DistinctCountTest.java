package io.streamsql.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.streamsql.functions.BoundedAggregate.Kind;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import scala.math.BigDecimal;

/** How many different values there are: in one buffer, in several merged, in what was stored. */
class DistinctCountTest {
  /** Types that are words of eight bytes, and those that are not. */
  private static final Map<DataType, LongFunction<Object>> TYPES =
      Map.of(
          DataTypes.IntegerType,
          number -> (int) number,
          DataTypes.LongType,
          number -> number,
          DataTypes.DoubleType,
          number -> number / 8.0,
          DataTypes.BooleanType,
          number -> (number & 1) == 0,
          DataTypes.createDecimalType(18, 0),
          number -> Decimal.apply(number, 18, 0),
          DataTypes.createDecimalType(38, 0),
          number -> Decimal.apply(BigDecimal.decimal(number)),
          DataTypes.StringType,
          number -> UTF8String.fromString("number " + number),
          DataTypes.createArrayType(DataTypes.LongType),
          DistinctCountTest::array);

  private static Object array(long number) {
    return ArrayData.toArrayData(new long[] {number, number + 1});
  }

  static Stream<DataType> types() {
    return TYPES.keySet().stream();
  }

  private static Object value(DataType type, long number) {
    return number == 7 ? null : TYPES.get(type).apply(number);
  }

  private static GenericInternalRow row(Object value) {
    return new GenericInternalRow(new Object[] {value});
  }

  private static Expression input(DataType type) {
    return new BoundReference(0, type, true);
  }

  private static long counted(DataType type, Iterable<Long> numbers) {
    Set<Object> values = new HashSet<>();
    for (long number : numbers) {
      Object value = value(type, number);
      if (value != null) {
        values.add(value);
      }
    }
    return values.size();
  }

  @ParameterizedTest
  @MethodSource("types")
  void countsWhatIsDifferent(DataType type) {
    DistinctCount count = new DistinctCount(input(type), 0, 0);
    Random dice = new Random(1);
    Set<Long> met = new HashSet<>();
    DistinctValues all = count.createAggregationBuffer();
    for (int part = 0; part < 5; part++) {
      DistinctValues some = count.createAggregationBuffer();
      for (int i = 0; i < 2000; i++) {
        long number = dice.nextInt(3000) - 1000L;
        met.add(number);
        count.update(some, row(value(type, number)));
      }
      all = count.merge(all, count.deserialize(count.serialize(some)));
      all = count.deserialize(count.serialize(all));
      assertEquals(counted(type, met), count.eval(all));
    }
  }

  @ParameterizedTest
  @MethodSource("types")
  void continuesWithACollectedSet(DataType type) {
    BoundedAggregate set =
        new BoundedAggregate(input(type), Kind.COLLECT_SET, Integer.MAX_VALUE, false, 0, 0);
    DistinctCount count = new DistinctCount(input(type), 0, 0);
    BoundedBuffer collected = set.createAggregationBuffer();
    Set<Long> met = new HashSet<>();
    for (long number = -5; number < 20; number++) {
      met.add(number);
      set.update(collected, row(value(type, number)));
    }
    DistinctValues values = count.deserialize(set.serialize(collected));
    assertEquals(counted(type, met), count.eval(values));
    for (long number = 10; number < 30; number++) {
      met.add(number);
      count.update(values, row(value(type, number)));
    }
    assertEquals(counted(type, met), count.eval(values));
  }
}
