package io.streamsql.serving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class HeldRowsTest {
  private static final long ALL = Long.MIN_VALUE;

  private final UnsafeProjection projection =
      UnsafeProjection.create(
          new StructType().add("key", DataTypes.StringType).add("value", DataTypes.LongType));
  private final HeldRows rows = new HeldRows();

  @Test
  void theLastRowOfEachKeyIsThereWhateverCameBefore() {
    Random random = new Random(7);
    Map<String, Long> expected = new HashMap<>();
    for (int batch = 0; batch < 120; batch++) {
      int most = batch % 10 == 0 ? 20_000 : 300;
      for (int i = random.nextInt(most); i >= 0; i--) {
        String key = "k" + random.nextInt(30_000);
        if (random.nextInt(4) == 0) {
          rows.remove(bytes(key));
          expected.remove(key);
        } else {
          long value = random.nextLong();
          put(key, value, 0);
          expected.put(key, value);
        }
      }
      rows.seal();
      assertEquals(expected.size(), rows.size());
    }
    assertEquals(expected, found(rows.snapshot(ALL)));
  }

  @Test
  void aSnapshotStaysAsItWas() {
    Map<String, Long> before = new HashMap<>();
    for (int i = 0; i < 100_000; i++) {
      put("k" + i, i, 0);
      before.put("k" + i, (long) i);
    }
    rows.seal();
    Iterable<InternalRow> snapshot = rows.snapshot(ALL);
    for (int i = 0; i < 90_000; i++) {
      if (i % 2 == 0) {
        rows.remove(bytes("k" + i));
      } else {
        put("k" + i, -1, 0);
      }
      if (i % 1_000 == 0) {
        rows.seal();
      }
    }
    rows.seal();
    assertEquals(before, found(snapshot));
    assertEquals(55_000, found(rows.snapshot(ALL)).size());
  }

  @Test
  void roomOfRowsThatAreGoneIsUsedAgain() {
    for (int i = 0; i < 100_000; i++) {
      put("k" + i, i, 0);
    }
    rows.seal();
    long once = rows.bytes();
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < 100_000; i++) {
        put("k" + i, i, 0);
      }
      rows.seal();
    }
    assertTrue(rows.bytes() < 3 * once, rows.bytes() + " bytes of " + once);
  }

  @Test
  void rowsOfOldRecordsAreNotThere() {
    put("old", 1, 10);
    put("new", 2, 20);
    rows.seal();
    assertEquals(Map.of("new", 2L), found(rows.snapshot(15)));
    rows.removeBefore(15);
    assertEquals(1, rows.size());
    put("old", 3, 30);
    rows.seal();
    assertEquals(Map.of("new", 2L, "old", 3L), found(rows.snapshot(15)));
  }

  @Test
  void nothingIsThereAtFirst() {
    rows.seal();
    rows.remove(bytes("none"));
    assertFalse(rows.snapshot(ALL).iterator().hasNext());
  }

  private void put(String key, long value, long time) {
    Object[] fields = {UTF8String.fromString(key), value};
    rows.put(bytes(key), projection.apply(new GenericInternalRow(fields)), time);
  }

  private static Map<String, Long> found(Iterable<InternalRow> rows) {
    Map<String, Long> found = new HashMap<>();
    for (InternalRow each : rows) {
      UnsafeRow row = (UnsafeRow) each;
      assertEquals(null, found.put(row.getString(0), row.getLong(1)), "two rows of a key");
    }
    return found;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
