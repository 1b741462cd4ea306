package io.streamsql.operators;

/** A task needs more memory than its share of the heap; only the task fails. */
public final class MemoryLimitException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What the task holds, and how much. */
  public MemoryLimitException(String message) {
    super(message);
  }
}
