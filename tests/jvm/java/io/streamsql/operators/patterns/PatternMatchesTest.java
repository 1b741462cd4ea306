package io.streamsql.operators.patterns;

import static io.streamsql.operators.OneKey.packed;
import static io.streamsql.operators.OneKey.row;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.operators.KeyedRow;
import io.streamsql.operators.OneKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** Patterns over rows with one number: matches as their first and last row. */
class PatternMatchesTest {
  private static final StructType VALUES = new StructType().add("v", DataTypes.IntegerType);
  private static final String FIRST_AND_LAST = "-1,true,0,0;-1,false,0,0";

  /** (A B+ C), greedy and reluctant. */
  private static final String SEVERAL = "0;1;f3,5;1;f2,2;2;e";

  private static final String FEW = "0;1;f5,3;1;f2,2;2;e";

  /** (A B+): it ends with a part that may be longer. */
  private static final String OPEN = "0;1;f3,5;1;f2,2;e";

  private final List<Attribute> structs = new ArrayList<>();
  private final List<Expression> conditions = new ArrayList<>();
  private final List<String> reads = new ArrayList<>();
  private String places = "";
  private String conditionOf = "-1,-1,-1";
  private long within = PatternMatches.FOR_EVER;
  private long grace = PatternMatches.AT_ONCE;

  /** The number of the row at the place. */
  private Expression at(String place) {
    Attribute struct =
        new AttributeReference(
            "s" + structs.size(),
            VALUES,
            true,
            Metadata.empty(),
            NamedExpression.newExprId(),
            CollectionConverters.asScala(List.<String>of()).toSeq());
    structs.add(struct);
    places += (places.isEmpty() ? "" : ";") + place;
    return new GetStructField(struct, 0, Option.empty());
  }

  private static Expression number(int value) {
    return new Literal(value, DataTypes.IntegerType);
  }

  private OneKey<MatchRow> matches(String program, String skip) {
    Totals none = new Totals(List.of(), "");
    int[][] read = reads.stream().map(Totals::numbers).toArray(int[][]::new);
    MatchConditions own =
        new MatchConditions(
            conditions,
            structs,
            RowPlace.parse(places),
            none,
            Totals.numbers(conditionOf),
            read,
            1);
    MatchResults told = new MatchResults(FIRST_AND_LAST, none, 1);
    return new OneKey<>(new PatternMatches(program, own, told, skip, within, grace));
  }

  /** B is less than the row before, C more than the first row. */
  private void fallsAndRises() {
    conditions.add(new LessThan(at("-1,false,0,0"), at("-1,false,0,1")));
    conditions.add(new GreaterThan(at("2,false,0,0"), at("0,true,0,0")));
    reads.addAll(List.of("0,1", "2,3"));
    conditionOf = "-1,0,1";
  }

  private static KeyedRow at(long time, int value) {
    return row(time, packed(VALUES, value));
  }

  /** One a ms, from the time on. */
  private static KeyedRow[] from(long time, int... values) {
    KeyedRow[] rows = new KeyedRow[values.length];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = at(time + i, values[i]);
    }
    return rows;
  }

  /** `first-last@time`. */
  private static List<String> shown(List<MatchRow> found) {
    return found.stream()
        .map(m -> value(m.getMade(), 0) + "-" + value(m.getMade(), 1) + "@" + m.getTime())
        .toList();
  }

  private static int value(byte[] made, int part) {
    UnsafeRow parts = new UnsafeRow(2);
    parts.pointTo(made, made.length);
    byte[] bytes = parts.getBinary(part);
    UnsafeRow values = new UnsafeRow(1);
    values.pointTo(bytes, bytes.length);
    return values.getInt(0);
  }

  @Test
  void conditionsLookBackAndTheNextMatchBeginsBehind() {
    fallsAndRises();
    OneKey<MatchRow> matches = matches(SEVERAL, "PAST_LAST_ROW");
    assertEquals(List.of("7-8@4"), shown(matches.batch(from(1, 7, 5, 3, 8, 6, 4))));
    assertEquals(List.of("6-9@8"), shown(matches.batch(from(7, 3, 9))));
  }

  @Test
  void matchesOverlapFromTheNextRowOn() {
    fallsAndRises();
    OneKey<MatchRow> matches = matches(SEVERAL, "NEXT_ROW");
    assertEquals(List.of("7-8@4", "5-8@4"), shown(matches.batch(from(1, 7, 5, 3, 8))));
  }

  @Test
  void theNextMatchBeginsWithARowOfAVariable() {
    fallsAndRises();
    assertEquals(
        List.of("7-8@4", "8-9@7"),
        shown(matches(SEVERAL, "LAST,2").batch(from(1, 7, 5, 3, 8, 6, 4, 9))));
    assertEquals(
        List.of("7-8@4", "5-8@4"), shown(matches(SEVERAL, "FIRST,1").batch(from(1, 7, 5, 3, 8))));
  }

  @Test
  void aMatchNeverStartsOverWithItsOwnFirstRow() {
    conditionOf = "-1";
    assertEquals(List.of("1-1@1", "2-2@2"), shown(matches("0;e", "LAST,0").batch(from(1, 1, 2))));
  }

  @Test
  void greedyQuantifiersTakeAsMuchAsTheRestLets() {
    conditionOf = "-1,-1,0";
    conditions.add(new GreaterThan(at("2,false,0,0"), number(5)));
    reads.add("0");
    OneKey<MatchRow> greedy = matches(SEVERAL, "PAST_LAST_ROW");
    assertEquals(List.of(), shown(greedy.batch(from(1, 1, 2, 6, 3, 7, 4))), "B may be longer");
    assertEquals(
        List.of("1-6@3"), shown(matches(FEW, "PAST_LAST_ROW").batch(from(1, 1, 2, 6, 3, 4))));
  }

  @Test
  void whatMayContinueIsAMatchWhenItsTimeIsOver() {
    fallsAndRises();
    conditionOf = "-1,0";
    within = 10;
    OneKey<MatchRow> matches = matches(OPEN, "PAST_LAST_ROW");
    assertEquals(List.of(), shown(matches.batch(from(100, 7, 5, 3))));
    assertEquals(List.of(), shown(matches.watermark(109)));
    assertEquals(List.of("7-3@102"), shown(matches.watermark(110)));
    assertEquals(List.of(), shown(matches.batch(at(109, 4))), "it begins another one");
    assertEquals(List.of("4-2@110"), shown(matches.batch(at(110, 2), at(111, 9))));
  }

  @Test
  void rowsAreLessThanTheTimeApart() {
    conditionOf = "-1,-1,-1";
    within = 10;
    OneKey<MatchRow> matches = matches("0;1;e", "PAST_LAST_ROW");
    assertEquals(
        List.of("2-3@119"), shown(matches.batch(at(100, 1), at(110, 2), at(119, 3), at(129, 4))));
  }

  @Test
  void aKeyIsForgottenWhenNoMatchHasBegun() {
    conditionOf = "-1,-1,-1";
    within = 10;
    OneKey<MatchRow> matches = matches("0;1;e", "PAST_LAST_ROW");
    matches.batch(at(100, 1), at(105, 2), at(106, 3));
    assertTrue(matches.hasEntries("rows"));
    assertEquals(List.of(), matches.watermark(116));
    assertTrue(matches.hasValue("head"));
    assertEquals(List.of(), matches.watermark(200));
    assertFalse(matches.hasValue("head"));
    assertFalse(matches.hasEntries("rows"));
    assertFalse(matches.hasTimers());
    assertEquals(List.of("5-6@96"), shown(matches.batch(at(95, 5), at(96, 6))), "none is late");
  }

  @Test
  void aRowThatComesAfterALaterOneIsLate() {
    conditionOf = "-1,-1,-1";
    OneKey<MatchRow> matches = matches("0;1;e", "PAST_LAST_ROW");
    assertEquals(List.of(), matches.batch(at(5, 1)));
    KeyedRow late = row(0, 0, 6, 4, packed(VALUES, 2));
    KeyedRow same = row(0, 0, 7, 5, packed(VALUES, 3));
    assertEquals(List.of("1-3@5"), shown(matches.batch(late, same)));
    assertFalse(matches.hasTimers());
  }

  @Test
  void rowsThatWaitComeInTheOrderOfTheirTimes() {
    conditionOf = "-1,-1,-1";
    grace = 10;
    OneKey<MatchRow> matches = matches("0;1;e", "PAST_LAST_ROW");
    matches.batch(row(0, 0, 1, 30, packed(VALUES, 3)), row(0, 0, 2, 20, packed(VALUES, 2)));
    assertEquals(List.of(), matches.watermark(40));
    assertEquals(List.of("2-3@30"), shown(matches.watermark(41)));
    assertEquals(List.of(), matches.batch(at(30, 9)), "it is late");
    assertFalse(matches.hasEntries("waiting"));
  }

  @Test
  void rowsThatWaitAreLateWhenTheirMatchIsDecided() {
    conditionOf = "-1,-1,-1";
    grace = 10;
    within = 20;
    OneKey<MatchRow> matches = matches("0;1;e", "PAST_LAST_ROW");
    matches.batch(at(100, 1));
    assertEquals(List.of(), matches.watermark(111));
    assertEquals(List.of(), matches.watermark(130));
    assertEquals(List.of(), matches.batch(at(119, 2), at(120, 3), at(121, 4)), "the first is late");
    assertEquals(List.of("3-4@121"), shown(matches.watermark(132)));
    assertEquals(List.of(), matches.watermark(1000));
    assertFalse(matches.hasValue("head"));
    assertEquals(List.of(), matches.batch(at(150, 5)), "what it had is forgotten: it may be late");
    assertFalse(matches.hasEntries("waiting"));
  }

  @Test
  void rowsThatEndAreInOrderAndEndWhatMayContinue() {
    fallsAndRises();
    conditionOf = "-1,0";
    grace = PatternMatches.AT_THE_END;
    OneKey<MatchRow> matches = matches(OPEN, "PAST_LAST_ROW");
    KeyedRow first = row(0, 0, 9, 1, packed(VALUES, 9));
    assertEquals(
        List.of("9-3@4", "5-4@6"),
        shown(matches.batch(at(2, 7), at(3, 5), at(4, 3), first, at(5, 5), at(6, 4))));
  }

  @Test
  void manyRowsOfAMatchAreInChunksThatGo() {
    conditions.add(new LessThan(at("0,false,0,0"), number(5)));
    reads.add("0");
    conditionOf = "0,-1";
    OneKey<MatchRow> matches = matches("0;f2,4;0;f1,1;1;e", "PAST_LAST_ROW");
    for (int i = 1; i <= 2000; i++) {
      assertEquals(List.of(), matches.batch(at(i, i == 1 ? 4 : 1)));
    }
    assertEquals(List.of("4-7@3000"), shown(matches.batch(at(3000, 7))));
    assertFalse(matches.hasEntries("rows"));
  }

  @Test
  void batchesDecideNothing() {
    fallsAndRises();
    Random random = new Random(1);
    for (String program : List.of(SEVERAL, FEW)) {
      for (String skip : List.of("PAST_LAST_ROW", "NEXT_ROW", "FIRST,1", "LAST,2", "LAST,1")) {
        KeyedRow[] rows = from(1, random.ints(200, 0, 9).toArray());
        List<String> whole = shown(matches(program, skip).batch(rows));
        OneKey<MatchRow> oneByOne = matches(program, skip);
        List<String> found = new ArrayList<>();
        for (KeyedRow row : rows) {
          found.addAll(shown(oneByOne.batch(row)));
        }
        assertEquals(whole, found);
        assertFalse(found.isEmpty());
      }
    }
  }
}
