package io.streamsql.operators.aggregates;

import static io.streamsql.operators.OneKey.packed;
import static io.streamsql.operators.OneKey.row;
import static io.streamsql.operators.OneKey.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.operators.KeyedRow;
import io.streamsql.operators.OneKey;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** Sums of a column over frames, and the value of a row before. */
class OverWindowsTest {
  private static final StructType VALUES = new StructType().add("v", DataTypes.IntegerType);
  private static final StructType PAIR =
      new StructType().add("values", DataTypes.BinaryType).add("row", DataTypes.BinaryType);
  private static final String ALL = "-1,-1,true";
  private final List<AggregateBuffers> sums = new ArrayList<>();
  private boolean lagged;

  private OneKey<OverRow> over(String frames, String lags, long grace) {
    int count = frames.isEmpty() ? 0 : frames.split(";", -1).length;
    sums.addAll(Collections.nCopies(count, AggregatesTest.sum(VALUES)));
    return new OneKey<>(new OverWindows(sums, frames, lags, 1, grace));
  }

  private static KeyedRow at(long time, int value) {
    return at(time, time, value);
  }

  private static KeyedRow at(long offset, long time, int value) {
    byte[] own = OneKey.bytes("r" + value);
    return row(0, 0, offset, time, packed(PAIR, packed(VALUES, value), own));
  }

  /** `row@time=made,made`. */
  private List<String> shown(List<OverRow> results) {
    return results.stream()
        .map(r -> text(r.getRow()) + "@" + r.getTime() + "=" + made(r.getMade()))
        .toList();
  }

  private String made(byte[] packed) {
    UnsafeRow parts = new UnsafeRow(sums.size() + (lagged ? 1 : 0));
    parts.pointTo(packed, packed.length);
    List<String> shown = new ArrayList<>();
    for (int i = 0; i < sums.size(); i++) {
      shown.add(AggregatesTest.total(parts.getBinary(i)));
    }
    if (lagged) {
      byte[] values = parts.isNullAt(sums.size()) ? null : parts.getBinary(sums.size());
      UnsafeRow before = new UnsafeRow(1);
      if (values != null) {
        before.pointTo(values, values.length);
      }
      shown.add(values == null ? "-" : Integer.toString(before.getInt(0)));
    }
    return String.join(",", shown);
  }

  @Test
  void aRunningTotalAndTheRowBefore() {
    lagged = true;
    OneKey<OverRow> over = over(ALL, "1", OverWindows.AT_ONCE);
    assertEquals(List.of("r1@5=1,-", "r2@6=3,1"), shown(over.batch(at(5, 1), at(6, 2))));
    assertEquals(List.of("r4@6=7,2"), shown(over.batch(at(7, 6, 4))));
    assertFalse(over.hasTimers());
  }

  @Test
  void aRowThatComesAfterALaterOneIsLate() {
    OneKey<OverRow> over = over(ALL, "", OverWindows.AT_ONCE);
    assertEquals(List.of("r1@5=1"), shown(over.batch(at(5, 1))));
    assertEquals(List.of("r4@5=5"), shown(over.batch(at(7, 4, 2), at(8, 5, 4))));
    assertFalse(over.hasEntries("rows"));
  }

  @Test
  void aFrameHasSoManyRowsBefore() {
    OneKey<OverRow> over = over("2,-1,false;0,-1,false", "", OverWindows.AT_ONCE);
    List<String> first = shown(over.batch(at(1, 1), at(2, 2), at(3, 4), at(4, 8)));
    assertEquals(List.of("r1@1=1,1", "r2@2=3,2", "r4@3=7,4", "r8@4=14,8"), first);
    assertEquals(List.of("r16@5=28,16"), shown(over.batch(at(5, 16))));
  }

  @Test
  void aFrameHasTheRowsOfATimeAndGoesWithIt() {
    OneKey<OverRow> over = over("-1,10,true", "", OverWindows.AT_ONCE);
    assertEquals(List.of("r1@100=1", "r2@110=3"), shown(over.batch(at(100, 1), at(110, 2))));
    assertEquals(List.of("r4@111=6"), shown(over.batch(at(111, 4))));
    assertEquals(List.of(), shown(over.watermark(121)));
    assertTrue(over.hasValue("head"));
    assertEquals(List.of(), shown(over.watermark(122)));
    assertFalse(over.hasValue("head"));
    assertFalse(over.hasEntries("rows"));
    assertFalse(over.hasTimers());
    assertEquals(List.of(), shown(over.batch(at(111, 8))), "its frame is forgotten");
    assertEquals(List.of("r16@112=16"), shown(over.batch(at(112, 16))));
  }

  @Test
  void manyRowsOfAFrameAreInChunksThatGo() {
    OneKey<OverRow> over = over("-1,1000,true;300,-1,false", "", OverWindows.AT_ONCE);
    for (int i = 1; i <= 3000; i++) {
      List<OverRow> made = over.batch(at(i, 1));
      String expected = Math.min(i, 1001) + "," + Math.min(i, 301);
      assertEquals(List.of("r1@" + i + "=" + expected), shown(made));
    }
    assertEquals(List.of("r1@9000=1,301"), shown(over.batch(at(9000, 1))));
  }

  @Test
  void rowsThatWaitComeInTheOrderOfTheirTimes() {
    OneKey<OverRow> over = over("-1,100,true;-1,-1,false", "", 10);
    assertEquals(List.of(), shown(over.batch(at(1, 30, 1), at(2, 20, 2), at(3, 30, 4))));
    assertEquals(List.of(), shown(over.watermark(30)));
    assertEquals(List.of("r2@20=2,2"), shown(over.watermark(40)));
    assertEquals(List.of(), shown(over.batch(at(4, 20, 8), at(5, 25, 16))), "the first is late");
    assertEquals(List.of("r16@25=18,18", "r1@30=23,19", "r4@30=23,23"), shown(over.watermark(100)));
    assertFalse(over.hasEntries("waiting"));
  }

  @Test
  void waitingRowsOfTimesAreForgottenToo() {
    OneKey<OverRow> over = over("-1,20,true", "", 10);
    over.batch(at(100, 1), at(103, 2));
    assertEquals(List.of("r1@100=1", "r2@103=3"), shown(over.watermark(114)));
    assertTrue(over.hasValue("head"));
    assertEquals(List.of(), shown(over.watermark(134)));
    assertFalse(over.hasValue("head"));
    assertFalse(over.hasTimers());
  }

  @Test
  void rowsThatEndAreInOrderAndHaveTheirPeers() {
    lagged = true;
    OneKey<OverRow> over = over(ALL, "1", OverWindows.AT_THE_END);
    List<OverRow> made = over.batch(at(1, 30, 1), at(2, 10, 2), at(3, 30, 4));
    assertEquals(List.of("r2@10=2,-", "r1@30=7,2", "r4@30=7,1"), shown(made));
  }
}
