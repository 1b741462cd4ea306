package io.streamsql.monitoring;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SamplingTest {
  @Test
  void soManyAMinuteAreTaken() {
    Sampling sampling = new Sampling(2);
    assertTrue(sampling.takes(1_000));
    assertTrue(sampling.takes(1_001));
    assertFalse(sampling.takes(60_999));
    assertTrue(sampling.takes(61_000));
    assertTrue(sampling.takes(61_000));
    assertFalse(sampling.takes(61_000));
  }
}
