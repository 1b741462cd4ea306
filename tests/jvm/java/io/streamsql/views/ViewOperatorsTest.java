package io.streamsql.views;

import static io.streamsql.views.Changes.row;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.streamsql.expressions.PackedRows;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** What the operators of views make of batches of changes. */
final class ViewOperatorsTest {
  // -- LatestRows ---------------------------------------------------------------------------------

  @Test
  void theLastRecordOfAKeyTakesThePlaceOfItsRow() {
    Changes table = new Changes(new LatestRows());
    assertEquals(List.of("1 b", "1 x"), table.of(row("k", "a"), row("k", "b"), row("l", "x")));
    assertEquals(List.of("-1 b", "1 c"), table.of(row("k", "c"), row("l", "x")));
    assertEquals(List.of("-1 c"), table.of(row("k", "d"), row("k", null)));
    assertEquals(List.of(), table.of(row("k", null)));
    assertEquals(1, table.kept());
  }

  // -- DeltaJoin ----------------------------------------------------------------------------------

  private static Object[] left(long weight, String row) {
    return row("k", 0, weight, row);
  }

  private static Object[] right(long weight, String row) {
    return row("k", 1, weight, row);
  }

  @Test
  void aJoinMultipliesWeights() {
    Changes join = new Changes(new DeltaJoin("INNER"));
    assertEquals(List.of(), join.of(left(2, "a")));
    assertEquals(List.of("2 a x", "6 a y"), join.of(right(1, "x"), right(3, "y")));
    assertEquals(List.of("-1 a x", "-3 a y"), join.of(left(-1, "a")));
    // Both sides at once: what leaves the join is each pair as often as it was there.
    assertEquals(
        List.of("-1 a x", "-3 a y"), join.of(left(-1, "a"), right(-1, "x"), right(-3, "y")));
  }

  @Test
  void changesThatCancelChangeNothing() {
    Changes join = new Changes(new DeltaJoin("FULL"));
    assertEquals(List.of("1 a null"), join.of(left(1, "a")));
    assertEquals(List.of(), join.of(left(-1, "a"), left(1, "a"), right(1, "x"), right(-1, "x")));
  }

  @Test
  void anOuterJoinGivesRowsWithoutPartner() {
    Changes join = new Changes(new DeltaJoin("FULL"));
    assertEquals(List.of("1 null x"), join.of(right(1, "x")));
    assertEquals(List.of("-1 null x", "2 a x"), join.of(left(2, "a")));
    assertEquals(List.of("-2 a x", "2 a null"), join.of(right(-1, "x")));
    assertEquals(List.of("-2 a null", "1 null y"), join.of(left(-2, "a"), right(1, "y")));
  }

  @Test
  void aSemiJoinGivesALeftRowOnce() {
    Changes join = new Changes(new DeltaJoin("SEMI"));
    assertEquals(List.of("1 a null"), join.of(left(1, "a"), right(2, "")));
    assertEquals(List.of("1 b null"), join.of(left(1, "b"), right(-1, "")));
    assertEquals(List.of("-1 a null", "-1 b null"), join.of(left(1, "c"), right(-1, "")));
    assertEquals(List.of("1 a null", "1 b null", "1 c null"), join.of(right(1, "")));
  }

  @Test
  void anAntiJoinGivesTheOthers() {
    Changes join = new Changes(new DeltaJoin("ANTI"));
    assertEquals(List.of("1 a null"), join.of(left(1, "a")));
    assertEquals(List.of("-1 a null"), join.of(left(1, "b"), right(1, "")));
    assertEquals(List.of("1 a null", "1 b null", "1 c null"), join.of(left(1, "c"), right(-1, "")));
  }

  // -- TemporalJoin -------------------------------------------------------------------------------

  @Test
  void aLeftRowIsJoinedWhenItComes() {
    Changes join = new Changes(new TemporalJoin(true));
    assertEquals(List.of("1 a null"), join.of(left(1, "a")));
    assertEquals(List.of(), join.of(right(1, "x")));
    assertEquals(List.of("2 b x"), join.of(left(2, "b")));
    // The right rows are those after the batch.
    assertEquals(List.of("1 c y"), join.of(left(1, "c"), right(-1, "x"), right(1, "y")));
    assertEquals(List.of("1 d null"), join.of(left(1, "d"), left(-1, "b"), right(-1, "y")));
    assertEquals(0, join.kept());
  }

  @Test
  void anInnerTemporalJoinGivesPairsAlone() {
    Changes join = new Changes(new TemporalJoin(false));
    assertEquals(List.of(), join.of(left(1, "a")));
    assertEquals(List.of("2 b x", "6 b y"), join.of(left(2, "b"), right(1, "x"), right(3, "y")));
    assertEquals(List.of(), join.of(left(1, "c"), left(-1, "c")));
    assertEquals(2, join.kept());
  }

  private static Object[] arrived(long weight) {
    return row("a", 0, weight, "");
  }

  private static Object[] pair(long weight, String right) {
    return row("a", 1, weight, right);
  }

  @Test
  void aLeftRowGoesWithWhatItWasJoinedWith() {
    Changes memo = new Changes(new JoinMemo(true, true));
    assertEquals(List.of("1 a null"), memo.of(arrived(1)));
    assertEquals(List.of("2 a x", "6 a y"), memo.of(arrived(2), pair(6, "y"), pair(2, "x")));
    assertEquals(List.of("1 a x", "3 a y"), memo.of(arrived(1), pair(1, "x"), pair(3, "y")));
    assertEquals(List.of(), memo.of(arrived(-1), arrived(1)));
    // The first that came, and two of three that came with the same rows.
    assertEquals(List.of("-1 a null", "-2 a x", "-6 a y"), memo.of(arrived(-3)));
    assertEquals(List.of("-1 a x", "-3 a y"), memo.of(arrived(-1)));
    assertEquals(0, memo.kept());
    assertEquals(List.of("1 a z"), memo.of(arrived(1), pair(1, "z")));
  }

  @Test
  void aLeftRowThatNeverCameCannotGo() {
    Changes memo = new Changes(new JoinMemo(false, true));
    memo.of(arrived(1));
    assertThrows(NoSuchElementException.class, () -> memo.of(arrived(-2)));
  }

  @Test
  void rowsThatNeverGoAreNotKept() {
    Changes memo = new Changes(new JoinMemo(true, false));
    assertEquals(List.of("2 a null"), memo.of(arrived(2)));
    assertEquals(List.of("2 a x"), memo.of(arrived(2), pair(2, "x")));
    assertEquals(0, memo.kept());
  }

  // -- GroupContents ------------------------------------------------------------------------------

  @Test
  void aChangedGroupIsGivenBeforeAndAfter() {
    Changes group = new Changes(new GroupContents(false));
    assertEquals(List.of("g true a", "g true a"), group.of(row("g", 2L, "a"), row("h", 0L, "x")));
    assertEquals(
        List.of("g false a", "g false a", "g true a", "g true b"),
        group.of(row("g", -1L, "a"), row("g", 1L, "b")));
    assertEquals(List.of(), group.of(row("g", -1L, "a"), row("g", 1L, "a")));
    assertEquals(
        List.of("g false a", "g false b"), group.of(row("g", -1L, "a"), row("g", -1L, "b")));
    assertEquals(0, group.kept());
  }

  @Test
  void aGroupThatIsAlwaysThereHasARowOfNulls() {
    Changes group = new Changes(new GroupContents(true));
    assertEquals(List.of("g true null"), group.of(row("g", 0L, null)));
    assertEquals(List.of(), group.of(row("g", 0L, null)));
    assertEquals(
        List.of("g false null", "g true a", "g true null"),
        group.of(row("g", 0L, null), row("g", 1L, "a")));
  }

  // -- RowCounts ----------------------------------------------------------------------------------

  private static Object[] counted(int side, long weight) {
    return row("r", side, weight);
  }

  @Test
  void aRowIsDistinctOnce() {
    Changes rows = new Changes(new RowCounts("DISTINCT"));
    assertEquals(List.of("1 r"), rows.of(counted(0, 2)));
    assertEquals(List.of(), rows.of(counted(0, -1)));
    assertEquals(List.of("-1 r"), rows.of(counted(0, -1)));
    assertEquals(0, rows.kept());
  }

  @Test
  void setOperationsCountBothSides() {
    Changes all = new Changes(new RowCounts("EXCEPT_ALL"));
    assertEquals(List.of("2 r"), all.of(counted(0, 3), counted(1, 1)));
    assertEquals(List.of("-2 r"), all.of(counted(1, 4)));
    assertEquals(List.of("1 r"), all.of(counted(0, 3)));
    Changes both = new Changes(new RowCounts("INTERSECT_ALL"));
    assertEquals(List.of("1 r"), both.of(counted(0, 3), counted(1, 1)));
    Changes except = new Changes(new RowCounts("EXCEPT"));
    assertEquals(List.of("1 r"), except.of(counted(0, 3)));
    assertEquals(List.of("-1 r"), except.of(counted(1, 1)));
    Changes intersect = new Changes(new RowCounts("INTERSECT"));
    assertEquals(List.of(), intersect.of(counted(0, 3)));
    assertEquals(List.of("1 r"), intersect.of(counted(1, 2)));
  }

  @Test
  void partnersDecideAboutALeftRow() {
    Changes anti = new Changes(new RowCounts("ANTI"));
    assertEquals(List.of("2 r"), anti.of(counted(0, 2)));
    assertEquals(List.of("-2 r"), anti.of(counted(1, 6)));
    assertEquals(List.of("1 r"), anti.of(counted(0, -1), counted(1, -6)));
    Changes semi = new Changes(new RowCounts("SEMI"));
    assertEquals(List.of(), semi.of(counted(0, 2)));
    assertEquals(List.of("2 r"), semi.of(counted(1, 6)));
  }

  // -- Accumulators -------------------------------------------------------------------------------

  private static final StructType SUMS =
      new StructType().add("n", DataTypes.LongType).add("s", DataTypes.createDecimalType(38, 2));

  private static byte[] sums(long count, String sum) {
    Object[] values = {count, Decimal.apply(new java.math.BigDecimal(sum), 38, 2)};
    return PackedRows.bytes(UnsafeProjection.create(SUMS).apply(new GenericInternalRow(values)));
  }

  private static String text(byte[] sums) {
    return new String(sums, StandardCharsets.UTF_8);
  }

  @Test
  void sumsAreAddedUpAndTakenBack() {
    Changes groups = new Changes(new Accumulators(SUMS.json(), false, 0));
    assertEquals(List.of("g 1 " + text(sums(1, "1.10"))), groups.of(row("g", sums(1, "1.10"))));
    assertEquals(
        List.of("g -1 " + text(sums(1, "1.10")), "g 1 " + text(sums(3, "0.90"))),
        groups.of(row("g", sums(2, "-0.20"))));
    assertEquals(List.of(), groups.of(row("g", sums(0, "0.00"))));
    assertEquals(List.of("g -1 " + text(sums(3, "0.90"))), groups.of(row("g", sums(-3, "-0.90"))));
    assertEquals(0, groups.kept());
  }

  @Test
  void aSumWithTooManyDigitsIsAnError() {
    Changes groups = new Changes(new Accumulators(SUMS.json(), false, 0));
    String most = "9".repeat(36) + ".99";
    groups.of(row("g", sums(1, most)));
    assertThrows(ArithmeticException.class, () -> groups.of(row("g", sums(1, most))));
  }

  @Test
  void theLeastNumberFollowsItsRows() {
    Changes groups = new Changes(new Accumulators(SUMS.json(), false, 1));
    String one = text(sums(1, "0.00"));
    String two = text(sums(2, "0.00"));
    assertEquals(
        List.of("g 1 " + two + " -3"),
        groups.of(row("g", sums(1, "0.00"), 1L, 5L), row("g", sums(1, "0.00"), 1L, -3L)));
    assertEquals(
        List.of("g -1 " + two + " -3", "g 1 " + one + " 5"),
        groups.of(row("g", sums(-1, "0.00"), -1L, -3L)));
    assertEquals(
        List.of("g -1 " + one + " 5", "g 1 " + one + " null"),
        groups.of(row("g", sums(-1, "0.00"), -1L, 5L), row("g", sums(1, "0.00"), 1L, null)));
    assertEquals(
        List.of("g -1 " + one + " null"), groups.of(row("g", sums(-1, "0.00"), -1L, null)));
    assertEquals(0, groups.kept());
  }

  // -- TemporalRows -------------------------------------------------------------------------------

  private static final String NO_ROW = null;

  private static Object[] clock(long moment) {
    return row("k", NO_ROW, 0L, moment);
  }

  @Test
  void aRowLeavesWhenItsMomentHasCome() {
    Changes rows = new Changes(new TemporalRows(1, false));
    assertEquals(
        List.of("1 a", "2 b"),
        rows.of(clock(10), row("k", "a", 1L, 20L), row("k", "b", 2L, 21L), row("k", "c", 1L, 10L)));
    assertEquals(List.of(), rows.of(clock(19)));
    assertEquals(List.of("-1 a"), rows.of(clock(20)));
    assertEquals(List.of("-1 b"), rows.of(clock(20), row("k", "b", -1L, 21L)));
    // What is taken back when it has left is not there.
    assertEquals(List.of("-1 b"), rows.of(clock(30), row("k", "a", -1L, 20L)));
    assertEquals(0, rows.kept());
  }

  @Test
  void aRowEntersWhenItsMomentHasCome() {
    Changes rows = new Changes(new TemporalRows(1, true));
    assertEquals(
        List.of("1 c"),
        rows.of(
            clock(10),
            row("k", "a", 1L, 20L),
            row("k", "b", 1L, 25L),
            row("k", "c", 1L, 10L),
            row("k", "d", 1L, null)));
    assertEquals(List.of("1 a"), rows.of(clock(20), row("k", "b", -1L, 25L)));
    assertEquals(List.of("-1 a"), rows.of(clock(30), row("k", "a", -1L, 20L)));
    assertEquals(0, rows.kept());
  }

  @Test
  void momentsHaveTheOrderOfNumbers() {
    Changes rows = new Changes(new TemporalRows(1, false));
    rows.of(clock(-100), row("k", "a", 1L, -50L), row("k", "b", 1L, 0L), row("k", "c", 1L, 300L));
    assertEquals(List.of("-1 a"), rows.of(clock(-50)));
    assertEquals(List.of("-1 b"), rows.of(clock(299)));
    assertEquals(List.of("-1 c"), rows.of(clock(300)));
  }

  // -- ClosedRows and OnTimeRows ------------------------------------------------------------------

  private static Object[] watermark(long source, long moment) {
    return row("k", NO_ROW, source, moment);
  }

  @Test
  void aRowIsThereOnceAllWatermarksHavePassed() {
    Changes rows = new Changes(new ClosedRows(2));
    assertEquals(List.of(), rows.of(row("k", "a", 1L, 20L), watermark(0, 50)));
    assertEquals(List.of(), rows.of(watermark(1, 19), row("k", "b", 1L, 30L)));
    assertEquals(List.of("1 a"), rows.of(watermark(1, 20), row("k", "c", 1L, null)));
    // A watermark never goes back, and is known in batches that do not have it.
    assertEquals(List.of(), rows.of(watermark(1, 5), row("k", "b", -1L, 30L)));
    assertEquals(List.of("1 d"), rows.of(row("k", "d", 1L, 20L)));
    assertEquals(List.of(), rows.of(watermark(1, 40)));
  }

  private static Object[] source(String row, long time, long partition) {
    return row(row, row, 1L, time, partition, 1L);
  }

  private static Object[] stage(long stage) {
    return row(stage == OnTimeRows.BEGIN ? "" : "~", NO_ROW, 0L, 0L, 0L, stage);
  }

  @Test
  void aRowIsLateByTheRowsBeforeIt() {
    Changes rows = new Changes(new OnTimeRows(5, true));
    Object[] begin = stage(OnTimeRows.BEGIN);
    Object[] end = stage(OnTimeRows.END);
    assertEquals(
        List.of("0 null 15", "1 a null", "1 b null", "1 c 15", "1 d null"),
        rows.of(
            begin,
            source("a", 10, 0),
            source("b", 20, 0),
            source("c", 14, 0),
            source("d", 15, 0),
            end));
    // A partition that begins later is behind the watermark, or holds it back.
    assertEquals(
        List.of("0 null 25", "1 e null", "1 f 15", "1 g null"),
        rows.of(begin, source("e", 40, 0), source("f", 14, 1), source("g", 30, 1), end));
    assertEquals(List.of("0 null 25"), rows.of(begin, end));
  }

  @Test
  void withoutAnOrderARowIsLateByTheBatchesBefore() {
    Changes rows = new Changes(new OnTimeRows(5, false));
    Object[] begin = stage(OnTimeRows.BEGIN);
    Object[] end = stage(OnTimeRows.END);
    assertEquals(
        List.of("0 null 15", "1 a null", "1 b null"),
        rows.of(begin, source("b", 20, 0), source("a", 10, 0), end));
    assertEquals(List.of("0 null 15", "1 c 15"), rows.of(begin, source("c", 14, 0), end));
  }

  // -- ViewRows -----------------------------------------------------------------------------------

  @Test
  void aKeyHasOneRecordABatch() {
    Changes view = new Changes(new ViewRows(true));
    assertEquals(
        List.of("b 1 false", "x 1 true"),
        view.of(row("k", -1L, "a"), row("k", 1L, "b"), row("l", -1L, "x"), row("m", 0L, "y")));
    assertThrows(IllegalStateException.class, () -> view.of(row("k", 1L, "a"), row("k", 1L, "b")));
  }

  @Test
  void equalRowsHaveNumbers() {
    Changes view = new Changes(new ViewRows(false));
    assertEquals(List.of("a 1 false", "a 2 false"), view.of(row("a", 2L, "a")));
    assertEquals(List.of("a 3 false"), view.of(row("a", 1L, "a")));
    assertEquals(List.of("a 2 true", "a 3 true"), view.of(row("a", -2L, "a")));
    assertEquals(List.of("a 1 true"), view.of(row("a", -1L, "a")));
    assertEquals(0, view.kept());
  }
}
