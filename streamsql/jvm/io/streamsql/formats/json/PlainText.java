package io.streamsql.formats.json;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Scans quoted ASCII text without escapes, eight bytes at a time. */
final class PlainText {
  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private static final long EACH = 0x0101010101010101L;
  private static final long TOP_BITS = 0x8080808080808080L;

  private PlainText() {}

  /** The position of its closing quote; -1 if another special byte comes first. */
  static int end(byte[] bytes, int from) {
    int at = from;
    while (at + Long.BYTES <= bytes.length && isPlain((long) WORD.get(bytes, at))) {
      at += Long.BYTES;
    }
    for (; at < bytes.length; at++) {
      byte b = bytes[at];
      if (b == '"') {
        return at;
      } else if (b < ' ' || b == '\\') {
        return -1;
      }
    }
    return -1;
  }

  /** Whether none of eight bytes is a control, a quote, a backslash or beyond ASCII. */
  private static boolean isPlain(long word) {
    long controls = word - ' ' * EACH;
    long special = zeroes(word ^ '"' * EACH) | zeroes(word ^ '\\' * EACH);
    return ((word | controls | special) & TOP_BITS) == 0;
  }

  /** Has a top bit set if a byte is 0 (the first one's, and maybe others'), else none. */
  private static long zeroes(long word) {
    return word - EACH & ~word;
  }
}
