package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A query in micro-batches rests in proportion to what its batches cost. */
class BatchPaceTest {
  private final BatchPace pace = new BatchPace();

  @Test
  void nothingPrecedesTheFirstBatch() {
    assertEquals(0, pace.rest(millis(5_000)));
  }

  @Test
  void aShortBatchIsFollowedByARestOfThreeTimesItsLength() {
    pace.begins(millis(1_000));
    assertEquals(millis(600), pace.rest(millis(1_200)));
    pace.begins(millis(1_800));
    assertEquals(millis(30), pace.rest(millis(1_810)));
  }

  @Test
  void aLongBatchDelaysTheNextByOneSecondAtMost() {
    pace.begins(0);
    assertEquals(millis(1_000), pace.rest(millis(60_000)));
  }

  private static long millis(long count) {
    return TimeUnit.MILLISECONDS.toNanos(count);
  }
}
