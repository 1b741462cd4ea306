package io.streamsql.lookups;

/**
 * Rows are out of reach, and were for some time. It has no cause, so that its message is what is
 * shown of it: the query waits until somebody has seen to it.
 */
public final class LookupException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  LookupException(String message) {
    super(message);
  }
}
