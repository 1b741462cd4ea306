package io.streamsql.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** Where the buffers of a layout are in another one, and where that is not known. */
final class GroupLayoutTest {
  private static final GroupLayout THREE = layout(DataTypes.LongType, "count", "sum #0", "sum #1");

  private static GroupLayout layout(DataType type, String... buffers) {
    StructType value = new StructType();
    for (String buffer : buffers) {
      // As Spark calls them: the same name again and again.
      value = value.add(buffer.substring(0, 3), type);
    }
    StructType key = new StructType().add("$key0", DataTypes.StringType);
    return new GroupLayout(key, value, Arrays.asList(buffers));
  }

  @Test
  void buffersAreFoundByTheirFunctions() {
    GroupLayout fewer = layout(DataTypes.LongType, "sum #1", "count");
    assertArrayEquals(new int[] {2, 0}, fewer.placesIn(THREE));
    assertNull(fewer.obstacleFrom(THREE));
  }

  @Test
  void whatIsNotThereIsSaid() {
    assertEquals(
        "the state lacks max", layout(DataTypes.LongType, "count", "max").obstacleFrom(THREE));
  }

  @Test
  void whatIsOfAnotherTypeIsNotTheSame() {
    assertEquals(
        "the state of count has another type",
        layout(DataTypes.IntegerType, "count").obstacleFrom(THREE));
  }

  @Test
  void functionsOfTheSameTextAreDistinguishedOnlyWhereAllStay() {
    GroupLayout twice = layout(DataTypes.LongType, "sum", "sum", "count");
    assertArrayEquals(new int[] {0, 1, 2}, twice.placesIn(twice));
    assertEquals(
        "the state is ambiguous: it has several of sum",
        layout(DataTypes.LongType, "sum", "count").obstacleFrom(twice));
    assertArrayEquals(new int[] {2}, layout(DataTypes.LongType, "count").placesIn(twice));
  }

  @Test
  void keysOfAnotherTypeAreOthers() {
    StructType key = new StructType().add("$key0", DataTypes.LongType);
    StructType value = new StructType().add("count", DataTypes.LongType);
    GroupLayout other = new GroupLayout(key, value, List.of("count"));
    String said = other.obstacleFrom(THREE);
    assertEquals("the key is " + key + ", and was " + THREE.key(), said);
  }
}
