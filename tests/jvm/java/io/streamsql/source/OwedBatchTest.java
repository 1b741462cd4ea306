package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A batch ends early that is owed to the one before, unless records come. */
class OwedBatchTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

  private final OwedBatch batch = new OwedBatch();

  @Test
  void aBatchThatIsNotOwedLastsToItsDeadline() {
    batch.begins(false);
    assertEquals(MINUTE, batch.deadline(0, MINUTE));
    assertFalse(batch.isOverAt(MINUTE));
    assertFalse(batch.isOver());
  }

  @Test
  void oneThatIsOwedEndsForAllReadersAtOnce() {
    batch.begins(true);
    assertEquals(5 + SECOND, batch.deadline(5, MINUTE));
    assertEquals(5 + SECOND, batch.deadline(SECOND / 2, MINUTE));
    assertFalse(batch.isOverAt(SECOND));
    assertTrue(batch.isOverAt(5 + SECOND));
    assertTrue(batch.isOver());
    assertTrue(batch.isOverAt(6), "another reader, whose time is not over");
    batch.begins(false);
    assertFalse(batch.isOver());
  }

  @Test
  void aRecordOfAnyReaderLetsItContinue() {
    batch.begins(true);
    batch.deadline(0, MINUTE);
    batch.hasRecord();
    assertFalse(batch.isOverAt(2 * SECOND));
    assertEquals(MINUTE, batch.deadline(2 * SECOND, MINUTE));
  }

  @Test
  void aShortBatchIsNotMadeLonger() {
    batch.begins(true);
    assertEquals(SECOND / 2, batch.deadline(0, SECOND / 2));
  }
}
