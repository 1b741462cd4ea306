package io.streamsql.operators;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RowOrderTest {
  /** Side, partition, offset and time of each row in order. */
  private static String order(List<KeyedRow> rows) {
    StringBuilder text = new StringBuilder();
    for (Iterator<KeyedRow> found = RowOrder.inOrder(rows.iterator()); found.hasNext(); ) {
      KeyedRow row = found.next();
      text.append(row.getSide()).append('/').append(row.getPartition()).append('/');
      text.append(row.getOffset()).append('@').append(row.getTime()).append(' ');
    }
    return text.toString().trim();
  }

  private static KeyedRow row(int side, int partition, long offset, long time) {
    return OneKey.row(side, partition, offset, time, null);
  }

  @Test
  void onePartitionIsTakenInTheOrderOfItsLogNotOfItsTimes() {
    List<KeyedRow> rows = List.of(row(0, 0, 2, 10), row(0, 0, 0, 30), row(0, 0, 1, 20));
    assertEquals("0/0/0@30 0/0/1@20 0/0/2@10", order(rows));
  }

  @Test
  void ofSeveralPartitionsTheOneWithTheEarliestNextRowComesFirst() {
    List<KeyedRow> rows =
        List.of(row(0, 0, 0, 30), row(0, 0, 1, 5), row(0, 1, 7, 10), row(1, 0, 3, 30));
    assertEquals("0/1/7@10 0/0/0@30 0/0/1@5 1/0/3@30", order(rows));
  }

  @Test
  void theOrderDoesNotDependOnHowRowsArrive() {
    List<KeyedRow> rows = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      rows.add(row(i % 2, i % 3, i, i * 37 % 11));
    }
    String expected = order(rows);
    for (int seed = 0; seed < 20; seed++) {
      Collections.shuffle(rows, new Random(seed));
      assertEquals(expected, order(rows));
    }
  }
}
