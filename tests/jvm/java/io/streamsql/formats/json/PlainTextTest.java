package io.streamsql.formats.json;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Eight bytes at a time say what one at a time says. */
class PlainTextTest {
  @Test
  void findsTheQuoteUnlessSomethingElseComesFirst() {
    Random dice = new Random(1);
    for (int round = 0; round < 20_000; round++) {
      byte[] bytes = new byte[dice.nextInt(40)];
      Arrays.fill(bytes, (byte) 'x');
      for (int specials = dice.nextInt(3); specials > 0 && bytes.length > 0; specials--) {
        bytes[dice.nextInt(bytes.length)] = (byte) dice.nextInt(256);
      }
      int from = bytes.length == 0 ? 0 : dice.nextInt(bytes.length);
      assertEquals(oneByOne(bytes, from), PlainText.end(bytes, from), Arrays.toString(bytes));
    }
  }

  private static int oneByOne(byte[] bytes, int from) {
    for (int at = from; at < bytes.length; at++) {
      if (bytes[at] == '"') {
        return at;
      } else if (bytes[at] < ' ' || bytes[at] == '\\') {
        return -1;
      }
    }
    return -1;
  }
}
