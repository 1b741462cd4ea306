package io.streamsql.operators.tables;

import static io.streamsql.operators.OneKey.bytes;
import static io.streamsql.operators.OneKey.packed;
import static io.streamsql.operators.OneKey.row;
import static io.streamsql.operators.OneKey.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.operators.KeyedRow;
import io.streamsql.operators.OneKey;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class TablesTest {
  private static final StructType TIMED =
      new StructType().add("streamTime", DataTypes.LongType).add("v", DataTypes.StringType);
  private static final StructType JUDGED =
      new StructType().add("passes", DataTypes.BooleanType).add("until", DataTypes.LongType);
  private static final StructType UNTOLD =
      new StructType()
          .add("deleted", DataTypes.BooleanType)
          .add("told", DataTypes.BinaryType)
          .add("v", DataTypes.BinaryType)
          .add("w", DataTypes.BinaryType);
  private static final StructType PAIR =
      new StructType().add("first", DataTypes.BinaryType).add("second", DataTypes.BinaryType);

  private static KeyedRow timed(long time, long streamTime) {
    return row(time, packed(TIMED, streamTime, "x"));
  }

  private static KeyedRow judged(long time, boolean passes, Long until) {
    return row(time, packed(JUDGED, passes, until));
  }

  private static List<Long> times(List<ChangedRow> changes) {
    return changes.stream().map(ChangedRow::getTime).toList();
  }

  // -- Deduplication ----------------------------------------------------------------------------

  @Test
  void onlyTheFirstRowOfAKeyIsDistinct() {
    OneKey<ChangedRow> distinct = new OneKey<>(new Deduplication(2, 0, 0));
    assertEquals(List.of(1L), times(distinct.batch(timed(1, 1), timed(2, 2))));
    assertEquals(List.of(), times(distinct.batch(timed(3, 3))));
    distinct.watermark(Long.MAX_VALUE);
    assertEquals(List.of(), times(distinct.batch(timed(4, 4))));
  }

  @Test
  void aWindowsKeyIsForgottenWhenNoRowOfItCanComeAnyMore() {
    OneKey<ChangedRow> distinct = new OneKey<>(new Deduplication(2, 100, 10));
    assertEquals(List.of(199L), times(distinct.batch(timed(199, 209))));
    distinct.watermark(209);
    assertTrue(distinct.hasValue("seen"));
    distinct.watermark(210);
    assertFalse(distinct.hasValue("seen"));
    assertEquals(List.of(), times(distinct.batch(timed(150, 0))), "late by the watermark");
  }

  @Test
  void aRowIsLateByTheStreamTimeThatItCarries() {
    OneKey<ChangedRow> distinct = new OneKey<>(new Deduplication(2, 100, 10));
    assertEquals(List.of(), times(distinct.batch(timed(-1, 10))), "its window ends at 0");
    assertEquals(List.of(-1L), times(distinct.batch(timed(-1, 9))));
  }

  // -- TableFilter ------------------------------------------------------------------------------

  @Test
  void aRowThatFailsIsPassedOnOnlyWhereTheKeyHasPassed() {
    OneKey<ChangedRow> filter = new OneKey<>(new TableFilter(2, false));
    assertEquals(List.of(), times(filter.batch(judged(1, false, null))));
    assertEquals(
        List.of(2L, 3L, 4L),
        times(filter.batch(judged(2, true, null), judged(3, true, null), judged(4, false, null))));
    assertFalse(filter.hasValue("passed"));
    assertEquals(List.of(), times(filter.batch(judged(5, false, null))));
  }

  @Test
  void aKeyThatHasHadItsTimeIsForgotten() {
    OneKey<ChangedRow> filter = new OneKey<>(new TableFilter(2, true));
    filter.batch(judged(1, true, 100L));
    filter.watermark(99);
    assertTrue(filter.hasValue("passed"));
    filter.watermark(100);
    assertFalse(filter.hasValue("passed"));
    assertFalse(filter.hasTimers());
  }

  // -- StoredValues -----------------------------------------------------------------------------

  private static KeyedRow change(long time, boolean deleted, String told, String v, String w) {
    return row(time, packed(UNTOLD, deleted, bytes(told), bytes(v), bytes(w)));
  }

  private static List<String> rows(List<ChangedRow> changes) {
    List<String> shown = new ArrayList<>();
    for (ChangedRow change : changes) {
      UnsafeRow row = new UnsafeRow(UNTOLD.length());
      row.pointTo(change.getAfter(), change.getAfter().length);
      String columns = text(row.getBinary(1)) + text(row.getBinary(2)) + text(row.getBinary(3));
      shown.add(row.getBoolean(0) ? "deleted" : columns);
    }
    return shown;
  }

  @Test
  void whatAChangeDoesNotTellIsWhatTheRowHadBefore() {
    OneKey<ChangedRow> values = new OneKey<>(new StoredValues(4));
    assertEquals(List.of("anullx"), rows(values.batch(change(1, false, "a", null, "x"))));
    assertEquals(
        List.of("bvx", "cvy", "dvy"),
        rows(
            values.batch(
                change(2, false, "b", "v", null),
                change(3, false, "c", null, "y"),
                change(4, false, "d", null, null))));
    assertEquals(List.of("evy"), rows(values.batch(change(5, false, "e", null, null))));
    assertEquals(
        List.of("deleted", "fnullnull"),
        rows(values.batch(change(6, true, "", null, null), change(7, false, "f", null, null))));
    assertEquals(
        List.of("gvw", "deleted"),
        rows(values.batch(change(8, false, "g", "v", "w"), change(9, true, "", null, null))));
    assertFalse(values.hasValue("stored"));
  }

  // -- TableChanges -----------------------------------------------------------------------------

  private static KeyedRow member(long time, String group, String value) {
    return row(time, packed(PAIR, bytes(group), bytes(value)));
  }

  private static List<String> shown(List<ChangedRow> changes) {
    return changes.stream()
        .map(c -> text(c.getKey()) + ":" + text(c.getBefore()) + ">" + text(c.getAfter()))
        .toList();
  }

  @Test
  void aRowIsTakenBackFromTheGroupThatItLeaves() {
    OneKey<ChangedRow> changes = new OneKey<>(new TableChanges());
    assertEquals(List.of("g:null>a"), shown(changes.batch(member(1, "g", "a"))));
    assertEquals(List.of("g:a>b"), shown(changes.batch(member(2, "g", "b"))));
    assertEquals(List.of("g:b>null", "h:null>c"), shown(changes.batch(member(3, "h", "c"))));
    assertEquals(List.of("h:c>null"), shown(changes.batch(row(4, null))));
    assertFalse(changes.hasValue("latest"));
    assertEquals(List.of(), shown(changes.batch(row(5, null))));
  }

  @Test
  void changesWithinABatchAreTakenOneByOne() {
    OneKey<ChangedRow> changes = new OneKey<>(new TableChanges());
    assertEquals(
        List.of("g:null>a", "g:a>null", "h:null>b", "h:b>null"),
        shown(changes.batch(row(3, null), member(2, "h", "b"), member(1, "g", "a"))));
  }

  // -- TopN -------------------------------------------------------------------------------------

  private static final StructType RANKED =
      new StructType().add("id", DataTypes.BinaryType).add("score", DataTypes.IntegerType);

  private static byte[] scored(String id, Integer score) {
    return packed(RANKED, bytes(id), score);
  }

  private static KeyedRow change(long time, byte[] gone, byte[] come) {
    return row(time, packed(PAIR, gone, come));
  }

  private static String ranks(List<RankedRow> results) {
    StringBuilder text = new StringBuilder();
    for (RankedRow result : results) {
      String score = "-";
      if (result.getRow() != null) {
        var row = new org.apache.spark.sql.catalyst.expressions.UnsafeRow(2);
        row.pointTo(result.getRow(), result.getRow().length);
        score = row.isNullAt(1) ? "null" : Integer.toString(row.getInt(1));
      }
      text.append(result.getNumber());
      if (result.getRow() != null && result.getRank() != result.getNumber()) {
        text.append('/').append(result.getRank());
      }
      text.append('=').append(score).append(' ');
    }
    return text.toString().trim();
  }

  @Test
  void ofAStreamTheBestRowsAreKeptNullsLastAndEarlierRowsFirst() {
    OneKey<RankedRow> top = new OneKey<>(new TopN(RANKED.json(), "d", 2, false, "ROW_NUMBER"));
    assertEquals("1=null", ranks(top.batch(change(1, null, scored(null, null)))));
    assertEquals(
        "1=7 2=5",
        ranks(top.batch(change(2, null, scored(null, 5)), change(3, null, scored(null, 7)))));
    assertEquals("", ranks(top.batch(change(4, null, scored(null, 5)))));
    assertEquals("1=9 2=7", ranks(top.batch(change(5, null, scored(null, 9)))));
    assertFalse(top.hasEntries("others"));
  }

  @Test
  void ranksThatAreEmptyAgainAreDeleted() {
    OneKey<RankedRow> top = new OneKey<>(new TopN(RANKED.json(), "a", 2, true, "ROW_NUMBER"));
    byte[] a = scored("a", 1);
    byte[] b = scored("b", 2);
    assertEquals("1=1 2=2", ranks(top.batch(change(1, null, a), change(2, null, b))));
    assertEquals("1=2 2=-", ranks(top.batch(change(3, a, null))));
    assertEquals("1=-", ranks(top.batch(change(4, b, null))));
    assertFalse(top.hasValue("first"));
  }

  @Test
  void otherRowsComeUpWhereTheFirstHaveGone() {
    int rows = 100;
    OneKey<RankedRow> top = new OneKey<>(new TopN(RANKED.json(), "a", 2, true, "ROW_NUMBER"));
    for (int i = rows; i > 0; i--) {
      top.batch(change(rows - i, null, scored("id" + i, i)));
    }
    assertTrue(top.hasEntries("others"));
    for (int i = 1; i < rows - 1; i++) {
      assertEquals(
          "1=" + (i + 1) + " 2=" + (i + 2),
          ranks(top.batch(change(rows + i, scored("id" + i, i), null))));
    }
    assertFalse(top.hasEntries("others"));
  }

  @Test
  void aRowOfAnotherScoreIsTakenBackByItsId() {
    OneKey<RankedRow> top = new OneKey<>(new TopN(RANKED.json(), "d", 1, true, "ROW_NUMBER"));
    top.batch(change(1, null, scored("a", 5)), change(2, null, scored("b", 4)));
    assertEquals("1=4", ranks(top.batch(change(3, scored("a", 5), scored("a", 3)))));
    assertEquals(
        "", ranks(top.batch(change(4, scored("b", 4), scored("b", 4)))), "nothing has changed");
  }

  @Test
  void rowsThatAreEqualShareARank() {
    OneKey<RankedRow> top = new OneKey<>(new TopN(RANKED.json(), "d", 2, false, "RANK"));
    KeyedRow[] rows = {
      change(1, null, scored(null, 5)),
      change(2, null, scored(null, 7)),
      change(3, null, scored(null, 5)),
      change(4, null, scored(null, 4))
    };
    assertEquals("1=7 2=5 3/2=5", ranks(top.batch(rows)));
    assertEquals(
        "1=9 2=7 3=-", ranks(top.batch(change(5, null, scored(null, 9)))), "no room for ties");
    OneKey<RankedRow> dense = new OneKey<>(new TopN(RANKED.json(), "d", 2, false, "DENSE_RANK"));
    assertEquals(
        "1=7 2/1=7 3/2=5",
        ranks(
            dense.batch(
                change(1, null, scored(null, 7)),
                change(2, null, scored(null, 5)),
                change(3, null, scored(null, 4)),
                change(4, null, scored(null, 7)))));
  }

  @Test
  void aRankThatChangesIsAResultAndTiesComeUpFromTheOthers() {
    OneKey<RankedRow> top = new OneKey<>(new TopN(RANKED.json(), "a", 1, true, "RANK"));
    int rows = 60;
    for (int i = 0; i < rows; i++) {
      top.batch(change(i, null, scored("id" + i, i < rows / 2 ? 1 : 2)));
    }
    assertEquals(rows / 2, top.batch(change(rows, null, scored("x", 0))).size(), "one and no more");
    List<RankedRow> back = top.batch(change(rows, scored("x", 0), null));
    assertEquals(rows / 2, back.size());
    assertTrue(back.stream().allMatch(row -> row.getRank() == 1));
    for (int i = 0; i < rows / 2; i++) {
      back = top.batch(change(rows, scored("id" + i, 1), null));
    }
    assertEquals(rows / 2, back.size(), "those of the next rank");
    OneKey<RankedRow> two = new OneKey<>(new TopN(RANKED.json(), "a", 2, true, "RANK"));
    two.batch(change(1, null, scored("a", 1)), change(2, null, scored("b", 2)));
    assertEquals("2/1=2", ranks(two.batch(change(3, scored("a", 1), scored("a", 2)))).substring(4));
  }
}
