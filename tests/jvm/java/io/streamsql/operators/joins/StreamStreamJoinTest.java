package io.streamsql.operators.joins;

import static io.streamsql.operators.joins.Joins.left;
import static io.streamsql.operators.joins.Joins.right;
import static io.streamsql.operators.joins.Joins.shown;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.operators.OneKey;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Windows of 10 ms before and 20 ms after a left row, and 5 ms of grace. */
class StreamStreamJoinTest {
  private static OneKey<JoinedRow> join(boolean left, boolean right, boolean held) {
    return new OneKey<>(new StreamStreamJoin(10, 20, 5, left, right, held));
  }

  @Test
  void rowsMeetWithinTheWindowBothBoundsInclusive() {
    OneKey<JoinedRow> join = join(false, false, true);
    join.batch(right(89, "early"), right(90, "first"), right(100, "same"));
    assertEquals(List.of("l+first@100", "l+same@100"), shown(join.batch(left(100, "l"))));
    assertEquals(List.of("l+last@120"), shown(join.batch(right(120, "last"), right(121, "late"))));
  }

  @Test
  void aRowWithoutAValueMeetsNothing() {
    OneKey<JoinedRow> join = join(true, true, false);
    assertEquals(List.of(), shown(join.batch(left(1, null), right(1, null))));
    assertFalse(join.hasEntries("rows"));
  }

  @Test
  void anOuterRowIsAResultAtOnceUnlessItIsHeld() {
    assertEquals(List.of("l+null@1"), shown(join(true, false, false).batch(left(1, "l"))));
    assertEquals(List.of("null+r@1"), shown(join(false, true, false).batch(right(1, "r"))));
    assertEquals(List.of(), shown(join(true, true, true).batch(left(1, "l"))));
  }

  @Test
  void aHeldRowIsLetGoWhenItsWindowHasClosed() {
    OneKey<JoinedRow> join = join(true, false, true);
    assertEquals(List.of(), shown(join.batch(left(100, "l"))));
    assertEquals(List.of(), shown(join.watermark(125)));
    assertEquals(List.of("l+null@100"), shown(join.watermark(126)));
    assertEquals(List.of(), shown(join.watermark(1_000)));
  }

  @Test
  void aLaterRowOfTheKeyClosesWindowsTooInTheirOrder() {
    OneKey<JoinedRow> join = join(true, true, true);
    assertEquals(List.of(), shown(join.batch(left(100, "l"), right(121, "r"))));
    assertEquals(List.of("l+null@100", "null+r@121"), shown(join.batch(left(10_000, "later"))));
  }

  @Test
  void aHeldRowThatHasMetOneIsNotLetGo() {
    OneKey<JoinedRow> join = join(true, false, true);
    join.batch(left(100, "l"));
    assertEquals(List.of("l+r@110"), shown(join.batch(right(110, "r"))));
    assertEquals(List.of(), shown(join.watermark(10_000)));
  }

  @Test
  void aRowIsMetAsLongAsTheGraceAllowsAndGoneAfterwards() {
    OneKey<JoinedRow> join = join(false, false, true);
    join.batch(right(100, "r"));
    join.batch(left(134, "now")); // 100 is the last time that is not gone
    assertEquals(List.of("late+r@100"), shown(join.batch(left(100, "late"))));
    join.batch(left(135, "now"));
    assertEquals(List.of(), shown(join.batch(left(100, "later"))));
  }

  @Test
  void theStateIsEmptyWhenItsTimeHasPassed() {
    OneKey<JoinedRow> join = join(true, true, true);
    join.batch(left(100, "l"), right(5_000, "r"));
    assertTrue(join.hasEntries("rows"));
    join.watermark(100_000);
    assertFalse(join.hasEntries("rows"));
    assertFalse(join.hasValue("times"));
    assertFalse(join.hasTimers());
  }

  @Test
  void whatTheTimeOfABatchHasPassedIsNotKept() {
    OneKey<JoinedRow> join = join(true, true, true);
    assertEquals(
        List.of("a+null@100", "null+b@5000"),
        shown(join.batch(left(100, "a"), right(5_000, "b"), left(90_000, "c"))));
    assertEquals(2, join.timers()); // Of the last row: its window closes, its bucket is forgotten.
    assertEquals(List.of("c+null@90000"), shown(join.watermark(200_000)));
    assertFalse(join.hasEntries("rows"));
  }

  @Test
  void aLongJumpInTimeReleasesWhatItsOwnBatchAndThoseBeforeHold() {
    OneKey<JoinedRow> join = join(true, true, true);
    long later = 100_000_000;
    assertEquals(List.of(), shown(join.batch(left(100, "a"))));
    assertEquals(
        List.of("a+null@100", "b+null@200", "null+c@300"),
        shown(join.batch(left(200, "b"), right(300, "c"), left(later, "d"))));
    assertEquals(List.of("d+null@" + later), shown(join.watermark(2 * later)));
    assertFalse(join.hasEntries("rows"));
  }

  @Test
  void withoutATimeRowsMeetForEverAndNothingButThemIsKept() {
    long ever = 1L << 58;
    OneKey<JoinedRow> join = new OneKey<>(new StreamStreamJoin(ever, ever, 0, true, false, false));
    join.batch(right(5_000, "r"), right(-7, "before 1970"));
    long later = 4_000_000_000_000L;
    assertEquals(
        List.of("l+before 1970@" + later, "l+r@" + later), shown(join.batch(left(later, "l"))));
    assertEquals(List.of("l+again@" + later), shown(join.batch(right(1, "again"))));
    assertTrue(join.hasEntries("rows"));
    assertFalse(join.hasValue("times"));
    assertFalse(join.hasTimers());
    assertEquals(List.of(), shown(join.watermark(later * 2)));
    assertEquals(List.of("l+last@" + later), shown(join.batch(right(2, "last"))));
  }
}
