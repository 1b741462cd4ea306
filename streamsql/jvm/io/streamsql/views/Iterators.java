package io.streamsql.views;

import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Function;

/** Iterators that give one element at a time, and hold none. */
final class Iterators {
  private Iterators() {}

  static <A, B> Iterator<B> transform(Iterator<A> each, Function<A, B> function) {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return each.hasNext();
      }

      @Override
      public B next() {
        return function.apply(each.next());
      }
    };
  }

  static <T> Iterator<T> concat(Iterator<Iterator<T>> parts) {
    return new Iterator<>() {
      private Iterator<T> part = Collections.emptyIterator();

      @Override
      public boolean hasNext() {
        while (!part.hasNext() && parts.hasNext()) {
          part = parts.next();
        }
        return part.hasNext();
      }

      @Override
      public T next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        return part.next();
      }
    };
  }
}
