package io.streamsql.serving;

import java.util.Arrays;
import java.util.function.IntPredicate;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * A hash table from keys to places, with linear probing. The keys are stored with the rows, so the
 * caller decides whether a place belongs to its key.
 */
final class KeyIndex {
  static final int NONE = -1;
  private static final int SEED = 42;

  private int[] hashes = new int[1 << 10];
  private int[] places = filled(1 << 10);
  private int size;

  private static int[] filled(int length) {
    int[] places = new int[length];
    Arrays.fill(places, NONE);
    return places;
  }

  static int hash(byte[] key, int start, int length) {
    return Murmur3_x86_32.hashUnsafeBytes2(key, Platform.BYTE_ARRAY_OFFSET + start, length, SEED);
  }

  long bytes() {
    return 4L * (hashes.length + places.length);
  }

  /** Sets the place (0 or more) of a key; returns the previous one, or NONE. */
  int put(int hash, IntPredicate isOfKey, int place) {
    int slot = find(hash, isOfKey);
    int before = places[slot];
    hashes[slot] = hash;
    places[slot] = place;
    if (before == NONE && ++size > places.length / 2) {
      grow();
    }
    return before;
  }

  /** Removes a key; returns its place, or NONE. */
  int remove(int hash, IntPredicate isOfKey) {
    int slot = find(hash, isOfKey);
    int before = places[slot];
    if (before != NONE) {
      size--;
      close(slot);
    }
    return before;
  }

  /** The slot of a key, or the free one for it. */
  private int find(int hash, IntPredicate isOfKey) {
    int mask = places.length - 1;
    int slot = hash & mask;
    while (places[slot] != NONE && !(hashes[slot] == hash && isOfKey.test(places[slot]))) {
      slot = slot + 1 & mask;
    }
    return slot;
  }

  /** Frees a slot, and moves displaced entries up. */
  private void close(int slot) {
    int mask = places.length - 1;
    int free = slot;
    for (int next = free + 1 & mask; places[next] != NONE; next = next + 1 & mask) {
      int home = hashes[next] & mask;
      if ((next - home & mask) >= (next - free & mask)) {
        hashes[free] = hashes[next];
        places[free] = places[next];
        free = next;
      }
    }
    places[free] = NONE;
  }

  private void grow() {
    int[] oldHashes = hashes;
    int[] oldPlaces = places;
    hashes = new int[2 * oldHashes.length];
    places = filled(2 * oldPlaces.length);
    for (int i = 0; i < oldPlaces.length; i++) {
      if (oldPlaces[i] != NONE) {
        int slot = find(oldHashes[i], place -> false);
        hashes[slot] = oldHashes[i];
        places[slot] = oldPlaces[i];
      }
    }
  }
}
