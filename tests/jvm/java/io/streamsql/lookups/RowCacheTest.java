package io.streamsql.lookups;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** What is known of keys, how long and of how many; and how often is asked. */
class RowCacheTest {
  private final AtomicLong clock = new AtomicLong();
  private final InternalRow row = new GenericInternalRow(new Object[] {1});

  private RowCache cache(int most, long ttl) {
    return new RowCache(most, ttl, clock::get);
  }

  @Test
  void aRowAndThatThereIsNoneAreKnownForSomeTime() {
    RowCache cache = cache(10, 100);
    cache.put(List.of(1), row);
    cache.put(List.of(2), null);
    clock.set(99);
    assertSame(row, cache.get(List.of(1)).row());
    assertNotNull(cache.get(List.of(2)));
    assertNull(cache.get(List.of(2)).row());
    assertNull(cache.get(List.of(3)));
    clock.set(100);
    assertNull(cache.get(List.of(1)));
    assertNull(cache.get(List.of(2)));
    assertEquals(0, cache.size());
  }

  @Test
  void whatWasNotAskedForTheLongestGoes() {
    RowCache cache = cache(2, 100);
    cache.put(List.of(1), row);
    cache.put(List.of(2), row);
    cache.get(List.of(1));
    cache.put(List.of(3), row);
    assertNotNull(cache.get(List.of(1)));
    assertNull(cache.get(List.of(2)));
    assertEquals(2, cache.size());
  }

  @Test
  void withoutTimeNothingIsKept() {
    RowCache cache = cache(2, 0);
    cache.put(List.of(1), row);
    assertEquals(0, cache.size());
  }

  @Test
  void textsAreCopied() {
    RowCache cache = cache(2, 100);
    byte[] memory = "york".getBytes(StandardCharsets.UTF_8);
    UTF8String text = UTF8String.fromBytes(memory);
    cache.put(List.of(text, 7L), row);
    memory[0] = 'f';
    assertNull(cache.get(List.of(text, 7L)));
    assertNotNull(cache.get(List.of(UTF8String.fromString("york"), 7L)));
  }

  @Test
  void turnsComeAtTheRateAndALittleMayBeHeldBack() {
    RateLimit limit = new RateLimit(100, clock::get);
    long turn = 10_000_000L;
    assertEquals(0, limit.turn());
    assertEquals(turn, limit.turn());
    assertEquals(2 * turn, limit.turn());
    clock.set(60_000_000_000L);
    // After a pause as many as a tenth of a second has.
    for (int i = 0; i <= 10; i++) {
      assertEquals(0, limit.turn());
    }
    assertEquals(turn, limit.turn());
  }

  @Test
  void withoutALimitNoCallerWaits() {
    RateLimit limit = new RateLimit(0, clock::get);
    for (int i = 0; i < 1000; i++) {
      assertTrue(limit.turn() == 0);
    }
  }
}
