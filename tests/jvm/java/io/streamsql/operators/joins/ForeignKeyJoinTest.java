package io.streamsql.operators.joins;

import static io.streamsql.operators.OneKey.bytes;
import static io.streamsql.operators.OneKey.packed;
import static io.streamsql.operators.OneKey.row;
import static io.streamsql.operators.OneKey.text;
import static io.streamsql.operators.joins.Joins.shown;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.streamsql.operators.OneKey;
import java.util.List;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** The three steps of a foreign-key join, each by itself. */
class ForeignKeyJoinTest {
  private static final StructType SUBSCRIBED =
      new StructType().add("key", DataTypes.BinaryType).add("row", DataTypes.BinaryType);

  private static byte[] leftRow(String foreignKey, String row) {
    return packed(SUBSCRIBED, bytes(foreignKey), bytes(row));
  }

  private static List<String> members(List<RoutedRow> sent) {
    return sent.stream()
        .map(
            s -> {
              ForeignKeyMember m = ForeignKeyMember.of(s.getRow());
              return text(s.getKey()) + " " + m.kind + " v" + m.version + " " + text(m.row);
            })
        .toList();
  }

  private static List<String> results(List<RoutedRow> sent) {
    return sent.stream()
        .map(
            s -> {
              ForeignKeyResult r = ForeignKeyResult.of(s.getRow());
              String sides = text(r.left) + "+" + text(r.right);
              return text(s.getKey()) + " v" + r.version + " " + sides + "@" + s.getTime();
            })
        .toList();
  }

  private static byte[] member(ForeignKeyMember.Kind kind, long version, String key, String row) {
    return new ForeignKeyMember(kind, version, 10 * version, bytes(key), bytes(row)).bytes();
  }

  private static byte[] result(long version, String left, String right) {
    return new ForeignKeyResult(version, bytes(left), bytes(right)).bytes();
  }

  @Test
  void aMemberAndAResultAreReadAsTheyWereWritten() {
    byte[] written = member(ForeignKeyMember.Kind.DELETED, Long.MAX_VALUE / 10, "", "");
    assertArrayEquals(written, ForeignKeyMember.of(written).bytes());
    written[0] = 3;
    assertThrows(IllegalArgumentException.class, () -> ForeignKeyMember.of(written));
    ForeignKeyResult read = ForeignKeyResult.of(result(-1, null, ""));
    assertNull(read.left);
    assertArrayEquals(new byte[0], read.right);
  }

  @Test
  void aChangeOfALeftRowGoesToItsForeignKeyAndToTheOneItHad() {
    OneKey<RoutedRow> step = new OneKey<>(new ForeignKeySubscriptions());
    assertEquals(List.of("f THERE v1 a"), members(step.batch(row(1, leftRow("f", "a")))));
    assertEquals(List.of("f THERE v2 b"), members(step.batch(row(2, leftRow("f", "b")))));
    assertEquals(
        List.of("f LEFT v3 ", "g THERE v3 c"), members(step.batch(row(3, leftRow("g", "c")))));
    assertEquals(List.of("g DELETED v4 "), members(step.batch(row(4, null))));
    assertEquals(List.of(), members(step.batch(row(5, null))));
    assertEquals(
        List.of("g THERE v5 d"),
        members(step.batch(row(6, leftRow("g", "d")))),
        "versions continue after a deletion");
  }

  @Test
  void leftRowsMeetTheRightOneAndHearOfItsChanges() {
    OneKey<RoutedRow> step = new OneKey<>(new ForeignKeyJoin(false));
    byte[] a = member(ForeignKeyMember.Kind.THERE, 1, "A", "a");
    byte[] b = member(ForeignKeyMember.Kind.THERE, 2, "B", "b");
    assertEquals(List.of("A v1 null+null@10"), results(step.batch(row(0, 0, 0, 5, a))));
    assertEquals(List.of("A v1 a+r@10"), results(step.batch(row(1, 0, 0, 7, bytes("r")))));
    assertEquals(List.of("B v2 b+r@20"), results(step.batch(row(0, 0, 1, 5, b))));
    assertEquals(
        List.of("A v1 a+R@50", "B v2 b+R@50"), results(step.batch(row(1, 0, 1, 50, bytes("R")))));
    byte[] gone = member(ForeignKeyMember.Kind.LEFT, 3, "A", "");
    assertEquals(List.of(), results(step.batch(row(0, 0, 2, 60, gone))));
    assertEquals(List.of("B v2 null+null@70"), results(step.batch(row(1, 0, 2, 70, null))));
    byte[] deleted = member(ForeignKeyMember.Kind.DELETED, 4, "B", "");
    assertEquals(List.of("B v4 null+null@80"), results(step.batch(row(0, 0, 3, 80, deleted))));
    assertFalse(step.hasEntries("members"));
    assertFalse(step.hasValue("right"));
    assertEquals(List.of(), results(step.batch(row(1, 0, 3, 90, null))));
  }

  @Test
  void anOuterJoinHasAResultWithoutARightRow() {
    OneKey<RoutedRow> step = new OneKey<>(new ForeignKeyJoin(true));
    byte[] a = member(ForeignKeyMember.Kind.THERE, 1, "A", "a");
    assertEquals(List.of("A v1 a+null@10"), results(step.batch(row(0, 0, 0, 5, a))));
  }

  @Test
  void resultsOfAnOlderVersionAreLeftOutAndOnlyWhatWasThereIsDeleted() {
    OneKey<JoinedRow> step = new OneKey<>(new ForeignKeyResults());
    assertEquals(List.of(), shown(step.batch(row(1, result(1, null, null)))));
    assertEquals(List.of("a+r@2"), shown(step.batch(row(2, result(2, "a", "r")))));
    assertEquals(List.of(), shown(step.batch(row(3, result(1, "old", "r")))));
    assertEquals(List.of("a+R@4"), shown(step.batch(row(4, result(2, "a", "R")))));
    assertEquals(
        List.of("null+null@5"),
        shown(step.batch(row(5, result(3, null, null)), row(6, result(3, null, null)))));
  }
}
