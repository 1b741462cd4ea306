package io.streamsql.views;

import java.util.List;

/** The state of one operator in one partition: the items of each key, each with a value. */
interface ViewStore {
  /** An item of a key. Its arrays are its own: nothing compares items. */
  @SuppressWarnings("ArrayRecordComponent")
  record Item(byte[] item, byte[] value) {}

  /**
   * Whether it had nothing before this batch: a key that the batch has not come to has no items,
   * and need not be looked up.
   */
  boolean isNew();

  /** The item's value; null without the item. */
  byte[] get(byte[] key, byte[] item);

  /** As {@link #get}, of a key that the batch has not come to. */
  default byte[] before(byte[] key, byte[] item) {
    return isNew() ? null : get(key, item);
  }

  void put(byte[] key, byte[] item, byte[] value);

  void remove(byte[] key, byte[] item);

  /** The items of a key, in no order that means anything. */
  List<Item> items(byte[] key);

  /**
   * The first of a key's items in the order of their bytes; null without items. It requires that
   * all of them have the same length, of eight bytes at most.
   */
  byte[] first(byte[] key);

  /** Whether a key has items. */
  boolean hasItems(byte[] key);
}
