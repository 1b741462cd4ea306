package io.streamsql.views;

import java.util.Arrays;

/**
 * How keys, items and values are stored: without their zeros, which are the half of a packed row.
 *
 * <p>Bytes are stored in parts of a number of zeros and a number of others, each at most 15: both
 * in one byte, and then the others. A key has its length before it, so that no key begins another
 * one. An item has a byte before it; short ones remain as they are, and in their order.
 */
final class StoredBytes {
  private static final int PART = 15;
  private static final int SHORT_ITEM = 8;
  private static final byte AS_IT_IS = 0;
  private static final byte PACKED = 1;

  private byte[] buffer = new byte[256];
  private int end;

  /** What all items of a key begin with. */
  byte[] key(byte[] key) {
    addKey(key);
    return Arrays.copyOf(buffer, end);
  }

  /** An item of a key. */
  byte[] key(byte[] key, byte[] item) {
    addKey(key);
    if (item.length > SHORT_ITEM) {
      add(PACKED);
      pack(item);
    } else if (item.length > 0) {
      add(AS_IT_IS);
      reserve(item.length);
      System.arraycopy(item, 0, buffer, end, item.length);
      end += item.length;
    }
    return Arrays.copyOf(buffer, end);
  }

  /** The item that is stored after the first bytes, those of its key. */
  static byte[] item(byte[] stored, int key) {
    if (stored.length == key) {
      return ViewOperator.ONLY;
    }
    return stored[key] == PACKED
        ? unpacked(stored, key + 1)
        : Arrays.copyOfRange(stored, key + 1, stored.length);
  }

  byte[] value(byte[] value) {
    end = 0;
    pack(value);
    return Arrays.copyOf(buffer, end);
  }

  static byte[] unpacked(byte[] stored) {
    return unpacked(stored, 0);
  }

  private void addKey(byte[] key) {
    end = 0;
    int length = key.length;
    while (length > Byte.MAX_VALUE) {
      add((byte) (length | 0x80));
      length >>>= 7;
    }
    add((byte) length);
    pack(key);
  }

  private void pack(byte[] bytes) {
    reserve(2 * bytes.length);
    int i = 0;
    while (i < bytes.length) {
      int begin = i;
      while (i < bytes.length && i - begin < PART && bytes[i] == 0) {
        i++;
      }
      int zeros = i - begin;
      int place = end++;
      begin = i;
      while (i < bytes.length && i - begin < PART && bytes[i] != 0) {
        buffer[end++] = bytes[i++];
      }
      buffer[place] = (byte) (zeros << 4 | (i - begin));
    }
  }

  private static byte[] unpacked(byte[] stored, int begin) {
    int length = 0;
    for (int i = begin; i < stored.length; i += 1 + (stored[i] & PART)) {
      length += ((stored[i] & 0xff) >>> 4) + (stored[i] & PART);
    }
    byte[] bytes = new byte[length];
    int to = 0;
    int i = begin;
    while (i < stored.length) {
      int others = stored[i] & PART;
      to += (stored[i++] & 0xff) >>> 4;
      for (int last = i + others; i < last; i++) {
        bytes[to++] = stored[i];
      }
    }
    return bytes;
  }

  private void add(byte one) {
    reserve(1);
    buffer[end++] = one;
  }

  private void reserve(int more) {
    if (buffer.length < end + more) {
      buffer = Arrays.copyOf(buffer, 2 * (end + more));
    }
  }
}
