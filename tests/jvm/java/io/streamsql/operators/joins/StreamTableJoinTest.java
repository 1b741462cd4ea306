package io.streamsql.operators.joins;

import static io.streamsql.operators.joins.Joins.left;
import static io.streamsql.operators.joins.Joins.right;
import static io.streamsql.operators.joins.Joins.shown;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.streamsql.operators.OneKey;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The table is side 0, the stream side 1; a result has the stream's row on the left. */
class StreamTableJoinTest {
  @Test
  void aRowMeetsTheTableAsItIsAtItsTime() {
    OneKey<JoinedRow> join = new OneKey<>(new StreamTableJoin(false));
    List<JoinedRow> out =
        join.batch(right(4, "b"), left(3, "new"), right(2, "a"), left(1, "old"), right(6, null));
    assertEquals(List.of("a+old@2", "b+new@4"), shown(out));
    assertEquals(List.of("c+new@0"), shown(join.batch(right(0, "c"))));
  }

  @Test
  void withoutATableRowOnlyAnOuterJoinHasAResult() {
    OneKey<JoinedRow> inner = new OneKey<>(new StreamTableJoin(false));
    OneKey<JoinedRow> outer = new OneKey<>(new StreamTableJoin(true));
    assertEquals(List.of(), shown(inner.batch(right(1, "a"))));
    assertEquals(List.of("a+null@1"), shown(outer.batch(right(1, "a"))));
  }

  @Test
  void aDeletedTableRowLeavesNoState() {
    OneKey<JoinedRow> join = new OneKey<>(new StreamTableJoin(true));
    join.batch(left(1, "t"));
    assertEquals(List.of("a+null@3"), shown(join.batch(left(2, null), right(3, "a"))));
    assertFalse(join.hasValue("table"));
  }
}
