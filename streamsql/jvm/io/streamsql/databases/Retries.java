package io.streamsql.databases;

import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import java.util.concurrent.TimeUnit;

/**
 * Retries with growing pauses. The task waits meanwhile, and nothing is lost or repeated; after the
 * last retry the query waits instead, and reports it. From then on each caller tries once, until
 * one succeeds.
 */
public final class Retries {
  private static final long FIRST_PAUSE = TimeUnit.MILLISECONDS.toNanos(20);

  private final ErrorCode code;
  private final long total;
  private final long longest;
  private volatile boolean lost;

  /**
   * @param code of the error after the last retry
   * @param total the duration of the retries, in nanoseconds
   * @param longest pause between two tries
   */
  public Retries(ErrorCode code, long total, long longest) {
    this.code = code;
    this.total = total;
    this.longest = longest;
  }

  public static Retries usual(ErrorCode code) {
    return new Retries(code, TimeUnit.SECONDS.toNanos(10), TimeUnit.SECONDS.toNanos(1));
  }

  /** The action; each of its exceptions causes a retry. */
  public interface Attempt<T> {
    T run() throws Exception;
  }

  /**
   * The result of the first attempt that succeeds.
   *
   * @throws CodedException with the message of the last failure after {@code what}
   */
  public <T> T call(String what, Attempt<T> attempt) {
    long start = System.nanoTime();
    long pause = FIRST_PAUSE;
    while (true) {
      try {
        T result = attempt.run();
        lost = false;
        return result;
      } catch (Exception e) {
        if (e instanceof InterruptedException || Thread.interrupted()) {
          throw stopped(what);
        }
        if (lost || System.nanoTime() - start + pause > total) {
          lost = true;
          throw unavailable(what + ": " + message(e));
        }
      }
      sleep(what, pause);
      pause = Math.min(2 * pause, longest);
    }
  }

  /** With that of its cause, which may say why. */
  private static String message(Exception e) {
    String message = line(e);
    String cause = e.getCause() == null ? "" : line(e.getCause());
    return message.contains(cause) ? message : message + ": " + cause;
  }

  private static String line(Throwable e) {
    String message = e.getMessage();
    return message == null ? e.getClass().getSimpleName() : message.lines().findFirst().orElse("");
  }

  /** The task is being stopped: it ends, and its batch is repeated if necessary. */
  public void sleep(String what, long nanos) {
    try {
      TimeUnit.NANOSECONDS.sleep(nanos);
    } catch (InterruptedException e) {
      throw stopped(what);
    }
  }

  private CodedException stopped(String what) {
    Thread.currentThread().interrupt();
    return unavailable(what + ": stopped while waiting");
  }

  /** It has no cause: its message is all that a user sees of it. */
  private CodedException unavailable(String message) {
    return new CodedException(code, message);
  }
}
