package io.streamsql.expressions;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** What generated code packs is what {@link PackedRows} packs, byte by byte. */
final class PackedStructTest {
  private static final StructType FLAT =
      new StructType()
          .add("flag", DataTypes.BooleanType)
          .add("tiny", DataTypes.ByteType)
          .add("small", DataTypes.ShortType)
          .add("number", DataTypes.IntegerType)
          .add("big", DataTypes.LongType)
          .add("single", DataTypes.FloatType)
          .add("double", DataTypes.DoubleType)
          .add("date", DataTypes.DateType)
          .add("time", DataTypes.TimestampType)
          .add("short_decimal", DataTypes.createDecimalType(10, 2))
          .add("long_decimal", DataTypes.createDecimalType(38, 4))
          .add("text", DataTypes.StringType)
          .add("bytes", DataTypes.BinaryType)
          .add("last", DataTypes.LongType);

  private static final Object[] VALUES = {
    true,
    (byte) 7,
    (short) -300,
    1_000_000,
    Long.MIN_VALUE,
    1.5f,
    Double.NaN,
    20_000,
    1_700_000_000_000_000L,
    Decimal.apply(new java.math.BigDecimal("12345678.90"), 10, 2),
    Decimal.apply(new java.math.BigDecimal("1234567890123456789012.3456"), 38, 4),
    UTF8String.fromString("größer als acht Bytes"),
    "binary".getBytes(StandardCharsets.UTF_8),
    1L,
  };

  @Test
  void packsValuesAndNulls() {
    assertPacked(FLAT, VALUES, true);
    assertPacked(FLAT, VALUES, false);
    assertPacked(FLAT, new Object[VALUES.length], true);
    for (int i = 0; i < VALUES.length; i++) {
      Object[] without = VALUES.clone();
      without[i] = null;
      assertPacked(FLAT, without, true);
    }
  }

  @Test
  void packsParts() {
    StructType type =
        new StructType()
            .add("id", DataTypes.LongType)
            .add("parts", DataTypes.createArrayType(DataTypes.IntegerType));
    Object[] values = {1L, new GenericArrayData(new Object[] {1, null, 3})};
    assertPacked(type, values, true);
    assertPacked(type, new Object[] {1L, null}, true);
  }

  @Test
  void packsMoreThanOneMethodHolds() {
    StructType type = new StructType();
    Object[] values = new Object[300];
    for (int i = 0; i < values.length; i++) {
      type = type.add("c" + i, DataTypes.StringType);
      values[i] = i % 3 == 0 ? null : UTF8String.fromString("value " + i);
    }
    assertPacked(type, values, true);
  }

  @Test
  void keepsWhatItHasPacked() {
    UnsafeProjection projection = UnsafeProjection.create(list(List.of(packed(FLAT, true))));
    byte[] first = projection.apply(new GenericInternalRow(VALUES)).getBinary(0);
    byte[] before = first.clone();
    projection.apply(new GenericInternalRow(new Object[VALUES.length]));
    assertArrayEquals(before, first);
  }

  /** Where it is not part of a generated class's text, tasks get the expression itself. */
  @Test
  void goesToTasks() {
    SerializerInstance serializer = new JavaSerializer(new SparkConf(false)).newInstance();
    ClassTag<PackedStruct> tag = ClassTag$.MODULE$.apply(PackedStruct.class);
    ByteBuffer sent = serializer.serialize((PackedStruct) packed(FLAT, true), tag);
    Expression received = serializer.deserialize(sent, tag);
    InternalRow row = new GenericInternalRow(VALUES);
    assertArrayEquals(new PackedRows(FLAT).pack(row), (byte[]) received.eval(row));
    assertEquals(packed(FLAT, true), received);
  }

  @Test
  void packsNoStruct() {
    StructType outer = new StructType().add("struct", FLAT);
    Expression column = new BoundReference(0, FLAT, true);
    Expression packed = new PackedStruct(column, FLAT);
    InternalRow nothing = new GenericInternalRow(new Object[outer.length()]);
    assertTrue(packed.nullable());
    assertNull(packed.eval(nothing));
    assertTrue(UnsafeProjection.create(list(List.of(packed))).apply(nothing).isNullAt(0));
    InternalRow row = new GenericInternalRow(new Object[] {new GenericInternalRow(VALUES)});
    UnsafeRow found = UnsafeProjection.create(list(List.of(packed))).apply(row);
    assertArrayEquals(
        new PackedRows(FLAT).pack(new GenericInternalRow(VALUES)), found.getBinary(0));
  }

  private static void assertPacked(StructType type, Object[] values, boolean nullable) {
    InternalRow row = new GenericInternalRow(values);
    byte[] wanted = new PackedRows(type).pack(row);
    Expression packed = packed(type, nullable);
    assertFalse(packed.nullable());
    assertArrayEquals(wanted, (byte[]) packed.eval(row));
    UnsafeProjection projection = UnsafeProjection.create(list(List.of(packed, packed)));
    for (int i = 0; i < 2; i++) {
      UnsafeRow found = projection.apply(row);
      assertArrayEquals(wanted, found.getBinary(0));
      assertArrayEquals(wanted, found.getBinary(1));
    }
  }

  private static Expression packed(StructType type, boolean nullable) {
    List<Expression> parts = new ArrayList<>();
    for (int i = 0; i < type.length(); i++) {
      parts.add(Literal$.MODULE$.apply(type.fields()[i].name()));
      parts.add(new BoundReference(i, type.fields()[i].dataType(), nullable));
    }
    return new PackedStruct(new CreateNamedStruct(list(parts)), type);
  }

  private static <T> scala.collection.immutable.Seq<T> list(List<T> parts) {
    return CollectionConverters.asScala(parts).toSeq();
  }
}
