package io.streamsql.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.streamsql.functions.BoundedAggregate.Kind;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Aggregates whose state has a bound: what they keep, in one buffer or in several merged. */
class BoundedAggregateTest {
  private static final DataType PAIR = StructType.fromDDL("A INT, B INT");

  private static BoundedAggregate aggregate(Kind kind, int limit, boolean ignoreNulls) {
    boolean ofPairs =
        switch (kind) {
          case COLLECT_LIST, COLLECT_SET, TOPK, TOPK_DISTINCT -> false;
          default -> true;
        };
    DataType type = ofPairs ? PAIR : DataTypes.IntegerType;
    return new BoundedAggregate(new BoundReference(0, type, true), kind, limit, ignoreNulls, 0, 0);
  }

  /** A number, null, or a pair with a slash between. */
  private static Object value(String text) {
    if (text.equals("null")) {
      return null;
    }
    int slash = text.indexOf('/');
    return slash < 0
        ? Integer.valueOf(text)
        : new GenericInternalRow(
            new Object[] {value(text.substring(0, slash)), value(text.substring(slash + 1))});
  }

  private static BoundedBuffer add(BoundedAggregate to, BoundedBuffer buffer, String... texts) {
    BoundedBuffer filled = buffer;
    for (String text : texts) {
      filled = to.update(filled, new GenericInternalRow(new Object[] {value(text)}));
    }
    return filled;
  }

  private static String result(BoundedAggregate of, BoundedBuffer buffer) {
    ArrayData found = (ArrayData) of.eval(buffer);
    DataType type = ((ArrayType) of.dataType()).elementType();
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < found.numElements(); i++) {
      texts.add(found.isNullAt(i) ? "null" : shown(found.get(i, type), type));
    }
    return String.join(" ", texts);
  }

  private static String shown(Object value, DataType type) {
    if (!(type instanceof StructType struct)) {
      return value.toString();
    }
    InternalRow row = (InternalRow) value;
    return row.get(0, struct.fields()[0].dataType())
        + "/"
        + row.get(1, struct.fields()[1].dataType());
  }

  @ParameterizedTest
  @CsvSource({
    "COLLECT_LIST,false,3 null 3 1,3 null 3",
    "COLLECT_SET,false,3 null 3 1 2,3 null 1",
    "TOPK,false,3 null 5 3 4,5 4 3",
    "TOPK,false,3 3 1,3 3 1",
    "TOPK_DISTINCT,false,3 5 3 null 1 4,5 4 3",
    "TOPK_BY,false,3/1 null/9 5/2 4/3 1/4,5/2 4/3 3/1",
    "EARLIEST,false,3/30 1/10 2/null 4/40,10 null 30",
    "EARLIEST,true,3/30 1/10 2/null 4/40,10 30 40",
    "LATEST,false,3/30 1/10 2/null 4/40,null 30 40",
    "LATEST,true,3/30 1/10 2/null 4/40,10 30 40",
    "SIGNED_LIST,false,1/1 2/1 1/1 1/-1 null/1 9/1,1 2 null",
    "SIGNED_LIST,false,1/-1 1/1,1",
    "COUNTED,false,1/1 2/1 1/1 2/-1 null/1 3/1 4/1,1/2 null/1 3/1",
    "COUNTED,false,1/1 1/-1 1/1,1/1",
  })
  void whatIsKept(Kind kind, boolean ignoreNulls, String given, String expected) {
    BoundedAggregate aggregate = aggregate(kind, 3, ignoreNulls);
    BoundedBuffer buffer =
        add(aggregate, aggregate.createAggregationBuffer(), given.split(" ", -1));
    assertEquals(expected, result(aggregate, buffer));
    BoundedBuffer read = aggregate.deserialize(aggregate.serialize(buffer));
    assertEquals(expected, result(aggregate, read), "as it comes back from the state");
    assertEquals(expected, result(aggregate, add(aggregate, read)), "and used again");
  }

  @ParameterizedTest
  @CsvSource({
    "COLLECT_LIST,1 2,3 4,1 2 3",
    "COLLECT_SET,1 2,2 3,1 2 3",
    "TOPK,1 5,3 5,5 5 3",
    "TOPK_DISTINCT,1 5,3 5,5 3 1",
    "EARLIEST,3/30 1/10,2/20 4/40,10 20 30",
    "LATEST,3/30 1/10,2/20 4/40,20 30 40",
    "COUNTED,1/1 2/1,1/1 3/1,1/2 2/1 3/1",
  })
  void mergedBuffersAreAsOne(Kind kind, String first, String second, String expected) {
    BoundedAggregate aggregate = aggregate(kind, 3, false);
    BoundedBuffer one = add(aggregate, aggregate.createAggregationBuffer(), first.split(" ", -1));
    BoundedBuffer other =
        add(aggregate, aggregate.createAggregationBuffer(), second.split(" ", -1));
    other = aggregate.deserialize(aggregate.serialize(other));
    assertEquals(expected, result(aggregate, aggregate.merge(one, other)));
  }

  @Test
  void ofEqualOnesTheEarlierStay() {
    BoundedAggregate latest = aggregate(Kind.TOPK_BY, 2, false);
    BoundedBuffer buffer = add(latest, latest.createAggregationBuffer(), "1/1", "1/2", "1/3");
    assertEquals("1/1 1/2", result(latest, buffer));
  }

  @Test
  void nothingGivesAnEmptyArray() {
    for (Kind kind : Kind.values()) {
      BoundedAggregate aggregate = aggregate(kind, 3, false);
      BoundedBuffer empty = aggregate.createAggregationBuffer();
      assertEquals("", result(aggregate, empty));
      assertEquals("", result(aggregate, aggregate.deserialize(aggregate.serialize(empty))));
    }
  }

  /** As Spark's trees compare, number and copy their nodes. */
  @Test
  void aCopyDiffersInWhatWasChangedAlone() {
    BoundedAggregate one = aggregate(Kind.TOPK, 3, false);
    assertEquals(one, aggregate(Kind.TOPK, 3, false));
    assertEquals(one.hashCode(), aggregate(Kind.TOPK, 3, false).hashCode());
    assertNotEquals(one, aggregate(Kind.TOPK, 4, false));
    assertNotEquals(one, aggregate(Kind.TOPK_DISTINCT, 3, false));
    BoundedAggregate moved = (BoundedAggregate) one.withNewMutableAggBufferOffset(5);
    assertEquals(5, moved.mutableAggBufferOffset());
    assertEquals(0, moved.inputAggBufferOffset());
    assertEquals(7, one.withNewInputAggBufferOffset(7).inputAggBufferOffset());
    assertEquals(one, moved.withNewMutableAggBufferOffset(0));
    assertEquals("topk", one.prettyName());
  }
}
