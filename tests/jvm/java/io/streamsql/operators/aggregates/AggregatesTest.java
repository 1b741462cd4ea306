package io.streamsql.operators.aggregates;

import static io.streamsql.operators.OneKey.packed;
import static io.streamsql.operators.OneKey.row;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.operators.KeyedRow;
import io.streamsql.operators.OneKey;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

/** Sessions of a gap of 10 ms and a grace of 5, and groups of a table: sums of a column. */
class AggregatesTest {
  private static final StructType SESSION_ROW =
      new StructType().add("streamTime", DataTypes.LongType).add("v", DataTypes.IntegerType);
  private static final StructType SIGNED_ROW = new StructType().add("sign", DataTypes.IntegerType);
  private static final StructType CHANGE =
      new StructType().add("before", DataTypes.BinaryType).add("after", DataTypes.BinaryType);

  private static Attribute attribute(String name, DataType type) {
    return new AttributeReference(
        name,
        type,
        true,
        Metadata.empty(),
        NamedExpression.newExprId(),
        CollectionConverters.asScala(List.<String>of()).toSeq());
  }

  /** SUM of the last of a row's columns. */
  static AggregateBuffers sum(StructType type) {
    List<Attribute> input =
        List.of(type.fields()).stream().map(f -> attribute(f.name(), f.dataType())).toList();
    Attribute total = attribute("total", DataTypes.LongType);
    return new AggregateBuffers(
        List.of(new Sum(input.get(input.size() - 1))), input, List.of(total), List.of(total));
  }

  private static OneKey<AggregatedRow> sessions(boolean updates) {
    return new OneKey<>(new SessionWindows(sum(SESSION_ROW), 2, 10, 5, updates));
  }

  private static KeyedRow at(long time, int value) {
    return at(time, value, time);
  }

  private static KeyedRow at(long time, int value, long streamTime) {
    return row(time, packed(SESSION_ROW, streamTime, value));
  }

  /** `start-end=total`, a deletion as `start-end=-`. */
  private static List<String> shown(List<AggregatedRow> results) {
    return results.stream()
        .map(r -> r.getStart() + "-" + r.getEnd() + "=" + total(r.getRow()))
        .toList();
  }

  static String total(byte[] packed) {
    if (packed == null) {
      return "-";
    }
    UnsafeRow row = new UnsafeRow(1);
    row.pointTo(packed, packed.length);
    return row.isNullAt(0) ? "null" : Long.toString(row.getLong(0));
  }

  @Test
  void rowsWithinTheGapAreOneSession() {
    OneKey<AggregatedRow> sessions = sessions(true);
    assertEquals(List.of("100-100=1"), shown(sessions.batch(at(100, 1))));
    assertEquals(List.of("100-100=-", "100-110=3"), shown(sessions.batch(at(110, 2))));
    assertEquals(List.of("121-121=4"), shown(sessions.batch(at(121, 4))));
  }

  @Test
  void anOutOfOrderRowJoinsTwoSessions() {
    OneKey<AggregatedRow> sessions = sessions(true);
    sessions.batch(at(100, 1), at(112, 2));
    assertEquals(
        List.of("100-100=-", "112-112=-", "100-112=7"), shown(sessions.batch(at(106, 4, 112))));
  }

  @Test
  void aLateRowIsTakenWithinTheGraceAndNotBehindIt() {
    assertEquals(List.of("85-85=1"), shown(sessions(true).batch(at(85, 1, 100))));
    assertEquals(List.of(), shown(sessions(true).batch(at(84, 1, 100))));
    OneKey<AggregatedRow> behindTheWatermark = sessions(true);
    behindTheWatermark.watermark(100);
    assertEquals(List.of(), shown(behindTheWatermark.batch(at(84, 1, 0))));
  }

  @Test
  void whatIsOverForOnePartitionIsNotForOneThatIsBehind() {
    OneKey<AggregatedRow> sessions = sessions(true);
    sessions.batch(at(100, 1), at(300, 2));
    assertEquals(List.of("100-100=-", "100-105=5"), shown(sessions.batch(at(105, 4, 105))));
    assertEquals(List.of(), shown(sessions.batch(at(106, 8, 300))));
    sessions.watermark(300);
    assertEquals(List.of(), shown(sessions.batch(at(107, 8, 107))));
  }

  @Test
  void aFinalResultComesOnceWhenTheSessionIsOver() {
    OneKey<AggregatedRow> sessions = sessions(false);
    assertEquals(List.of(), shown(sessions.batch(at(100, 1), at(105, 2))));
    assertEquals(List.of(), shown(sessions.watermark(120)));
    assertEquals(List.of("100-105=3"), shown(sessions.watermark(121)));
    assertEquals(List.of(), shown(sessions.watermark(1_000)));
    assertFalse(sessions.hasValue("bounds"));
    assertFalse(sessions.hasTimers());
  }

  @Test
  void theStateOfASessionGoesWithItsTime() {
    OneKey<AggregatedRow> sessions = sessions(true);
    sessions.batch(at(100, 1), at(200, 2));
    assertTrue(sessions.hasValue("bounds"));
    assertEquals(List.of(), shown(sessions.watermark(10_000)));
    assertFalse(sessions.hasValue("bounds"));
    assertFalse(sessions.hasTimers());
  }

  // -- groups of a table --------------------------------------------------------------------------

  private static KeyedRow change(long time, boolean before, boolean after) {
    byte[] member = packed(SIGNED_ROW, 1);
    return row(time, packed(CHANGE, before ? member : null, after ? member : null));
  }

  @Test
  void aGroupTakesBackWhatHasLeftIt() {
    OneKey<AggregatedRow> groups = new OneKey<>(new TableGroups(sum(SIGNED_ROW), 1));
    List<AggregatedRow> out =
        groups.batch(change(5, false, true), change(6, false, true), change(7, true, true));
    assertEquals(List.of("1", "2", "2"), out.stream().map(r -> total(r.getRow())).toList());
    out = groups.batch(change(3, true, false));
    assertEquals("1", total(out.get(0).getRow()));
    assertEquals(7, out.get(0).getTime(), "the latest change's");
    assertEquals("0", total(groups.batch(change(8, true, false)).get(0).getRow()));
  }
}
