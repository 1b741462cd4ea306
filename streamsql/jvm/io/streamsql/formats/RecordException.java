package io.streamsql.formats;

/**
 * A record that its format cannot read: the path in the record, and the problem.
 *
 * <p>Has no stack trace: a topic may hold a million such records, and filling in the trace would
 * cost more than reading the record.
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

  /** The same problem with a path one level further out. */
  public RecordException in(String step) {
    return new RecordException(step + path, problem);
  }

  /** {@code $.ADDRESS.ZIP: expected INT, found text 'x'}; without a path only the problem. */
  @Override
  public String getMessage() {
    return path.isEmpty() ? problem : "$" + path + ": " + problem;
  }
}
