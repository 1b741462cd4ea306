package io.streamsql.formats;

/**
 * A record that cannot be read by its format: where in the record, and what was found there.
 *
 * <p>Carries no stack trace: a topic may hold a million such records, and filling in the trace
 * would cost more than reading the record.
 */
public final class RecordException extends Exception {
  private static final long serialVersionUID = 1L;
  private final String problem;
  private final String path;

  public RecordException(String problem) {
    this("", problem);
  }

  private RecordException(String path, String problem) {
    super(problem, null, false, false);
    this.path = path;
    this.problem = problem;
  }

  /** The same problem, seen from one level further out. */
  public RecordException in(String step) {
    return new RecordException(step + path, problem);
  }

  /** {@code $.ADDRESS.ZIP: expected INT, found text 'x'}; without a path only the problem. */
  @Override
  public String getMessage() {
    return path.isEmpty() ? problem : "$" + path + ": " + problem;
  }
}
