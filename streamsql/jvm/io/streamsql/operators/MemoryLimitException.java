package io.streamsql.operators;

/** What a task is to hold is more than the heap has room for; the task alone fails. */
public final class MemoryLimitException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What it is, and how much. */
  public MemoryLimitException(String message) {
    super(message);
  }
}
