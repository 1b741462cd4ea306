package io.streamsql.serving;

/** A query that {@link LookupServer} answers: bytes in, bytes out. */
public interface PreparedQuery {
  /**
   * The epoch of the views that are read (long), -1 without one, and the results, each after its
   * length (int).
   *
   * @param packed what differs from one execution to the next
   * @throws NotNow if it has no answer at once
   */
  byte[] get(byte[] packed) throws Exception;

  /** The query has to be executed in the usual way. */
  final class NotNow extends Exception {
    private static final long serialVersionUID = 1L;

    NotNow(Throwable cause) {
      super(cause);
    }
  }
}
