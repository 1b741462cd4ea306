package io.streamsql.operators.joins;

import static io.streamsql.operators.joins.Joins.left;
import static io.streamsql.operators.joins.Joins.right;
import static io.streamsql.operators.joins.Joins.shown;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.operators.KeyedRow;
import io.streamsql.operators.OneKey;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TableTableJoinTest {
  /** What inserts and deletes of both sides give, by the kind of the join. */
  @ParameterizedTest
  @CsvSource({
    "false, false, l+r@2 null+null@3",
    "true,  false, l+null@1 l+r@2 l+null@3 null+null@4",
    "false, true,  l+r@2 null+null@3",
    "true,  true,  l+null@1 l+r@2 l+null@3 null+null@4",
  })
  void aChangeOfEitherTableGivesTheNewResult(boolean left, boolean right, String expected) {
    OneKey<JoinedRow> join = new OneKey<>(new TableTableJoin(left, right));
    List<JoinedRow> out =
        join.batch(left(1, "l"), right(2, "r"), right(3, null), left(4, null), left(5, null));
    assertEquals(expected, String.join(" ", shown(out)));
    assertFalse(join.hasValue("left") || join.hasValue("right"));
  }

  @Test
  void aResultHasTheTimeOfTheLaterRow() {
    OneKey<JoinedRow> join = new OneKey<>(new TableTableJoin(false, false));
    assertEquals(List.of(), shown(join.batch(left(9, "l"))));
    assertTrue(join.hasValue("left"));
    assertEquals(List.of("l+r@9"), shown(join.batch(right(2, "r"))));
    assertEquals(List.of("L+r@5"), shown(join.batch(left(5, "L"))));
  }

  @Test
  void resultsCarryTheHeadersOfTheirCauseAndAreInOrder() {
    OneKey<JoinedRow> join = new OneKey<>(new TableTableJoin(true, true));
    KeyedRow row = left(1, "l");
    row.setHeaders(new byte[] {7});
    List<JoinedRow> out = join.batch(row, right(2, "r"));
    assertArrayEquals(new byte[] {7}, out.get(0).getHeaders());
    assertEquals(null, out.get(1).getHeaders());
    assertEquals(out.get(0).getPartition(), out.get(1).getPartition());
    assertTrue(out.get(0).getOffset() < out.get(1).getOffset());
  }
}
