package io.streamsql.views;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class StoredBytesTest {
  private final StoredBytes bytes = new StoredBytes();

  private static byte[] hex(String text) {
    return HexFormat.of().parseHex(text);
  }

  private static byte[] random(Random random) {
    byte[] found = new byte[random.nextInt(random.nextBoolean() ? 20 : 600)];
    int zeros = random.nextInt(5);
    for (int i = 0; i < found.length; i++) {
      found[i] = (byte) (random.nextInt(4) < zeros ? 0 : random.nextInt(256));
    }
    return found;
  }

  @Test
  void zerosAreLeftOut() {
    // A row of two numbers, 7 and 258.
    byte[] row = hex("000000000000000007000000000000000201000000000000");
    assertEquals("810772020160", HexFormat.of().formatHex(bytes.value(row)));
    assertArrayEquals(row, StoredBytes.unpacked(bytes.value(row)));
  }

  @Test
  void allBytesComeBack() {
    Random random = new Random(7);
    for (int i = 0; i < 20_000; i++) {
      byte[] key = random(random);
      byte[] item = random(random);
      assertArrayEquals(item, StoredBytes.unpacked(bytes.value(item)));
      byte[] stored = bytes.key(key, item);
      byte[] prefix = bytes.key(key);
      assertArrayEquals(prefix, Arrays.copyOf(stored, prefix.length));
      assertArrayEquals(item, StoredBytes.item(stored, prefix.length));
    }
  }

  @Test
  void noKeyBeginsAnother() {
    Random random = new Random(8);
    for (int i = 0; i < 20_000; i++) {
      byte[] one = random(random);
      byte[] other = Arrays.copyOf(one, random.nextInt(one.length + 20));
      byte[] stored = bytes.key(one);
      boolean isSame = Arrays.equals(one, other);
      byte[] begin = Arrays.copyOf(bytes.key(other, random(random)), stored.length);
      assertEquals(isSame, Arrays.equals(stored, begin));
    }
    assertNotEquals(
        Arrays.hashCode(bytes.key(new byte[0], new byte[1])),
        Arrays.hashCode(bytes.key(new byte[1], new byte[0])));
  }

  @Test
  void shortItemsKeepTheirOrder() {
    Random random = new Random(9);
    for (int i = 0; i < 1_000; i++) {
      long one = random.nextLong() >> random.nextInt(64);
      long other = random.nextLong() >> random.nextInt(64);
      byte[] key = {1};
      int order =
          Arrays.compareUnsigned(
              bytes.key(key, Weights.ordered(one)), bytes.key(key, Weights.ordered(other)));
      assertTrue(Integer.signum(order) == Integer.signum(Long.compare(one, other)));
    }
  }
}
