package io.streamsql.functions;

import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** Caches what is derived from a text, such as a compiled pattern: few texts occur. */
final class Memo<T> {
  /** A bound, since rows may bring texts of their own. */
  private static final int LIMIT = 1000;

  private final ConcurrentHashMap<String, T> made = new ConcurrentHashMap<>();
  private final Function<String, T> maker;

  Memo(Function<String, T> maker) {
    this.maker = maker;
  }

  /** Throws what the maker throws, and caches nothing then. */
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
