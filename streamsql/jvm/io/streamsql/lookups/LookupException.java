package io.streamsql.lookups;

/**
 * The source of rows has been unavailable for some time. It has no cause, so that users see its
 * message: the query waits until the source is available again.
 */
public final class LookupException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  LookupException(String message) {
    super(message);
  }
}
