package io.streamsql.operators;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.errors.CodedException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class HeldRowsTest {
  private static final KeyedRow HALF = OneKey.row(0, 0, 0, 0, new byte[1 << 19]);

  private final AtomicLong all = new AtomicLong();

  private HeldRows held() {
    return new HeldRows(all, 3 << 20);
  }

  @Test
  void allKeysTogetherMayTakeWhatThereIsRoomFor() {
    HeldRows one = held();
    HeldRows other = held();
    for (int i = 0; i < 2; i++) {
      one.add(HALF);
      other.add(HALF);
    }
    assertTrue(all.get() > 2 << 20);
    one.add(HALF);
    assertThrows(CodedException.class, () -> one.add(HALF));
  }

  @Test
  void whatIsReleasedIsFreeForOthers() {
    HeldRows one = held();
    one.add(HALF);
    one.add(HALF);
    one.release();
    one.release();
    assertEquals(0, all.get());
  }

  @Test
  void smallKeysAreNotCounted() {
    held().add(HALF);
    assertEquals(0, all.get());
  }
}
