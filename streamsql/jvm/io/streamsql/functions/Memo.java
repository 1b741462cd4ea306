package io.streamsql.functions;

import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** What is made of a text, such as a pattern, kept for the next row: there are few of them. */
final class Memo<T> {
  /** Rows may bring along their own, without end. */
  private static final int LIMIT = 1000;

  private final ConcurrentHashMap<String, T> made = new ConcurrentHashMap<>();
  private final Function<String, T> maker;

  Memo(Function<String, T> maker) {
    this.maker = maker;
  }

  /** Throws what the maker throws; nothing is kept then. */
  T get(String text) {
    T known = made.get(text);
    if (known != null) {
      return known;
    }
    if (made.size() >= LIMIT) {
      made.clear();
    }
    return made.computeIfAbsent(text, maker);
  }
}
