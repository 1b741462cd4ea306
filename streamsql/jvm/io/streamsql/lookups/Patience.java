package io.streamsql.lookups;

import java.util.concurrent.TimeUnit;

/**
 * Tries again what fails, with longer and longer pauses. Whoever waits here holds up its task, and
 * nothing is lost or repeated; after the last try the query waits instead, and says so. Then what
 * is out of reach is tried once by each who comes, until it is there again.
 */
final class Patience {
  private static final long FIRST_PAUSE = TimeUnit.MILLISECONDS.toNanos(20);

  private final long total;
  private final long longest;
  private volatile boolean lost;

  /**
   * @param total how long to go on, in nanoseconds
   * @param longest pause between two tries
   */
  Patience(long total, long longest) {
    this.total = total;
    this.longest = longest;
  }

  static Patience usual() {
    return new Patience(TimeUnit.SECONDS.toNanos(10), TimeUnit.SECONDS.toNanos(1));
  }

  /** What is tried; each of its exceptions is a reason to try again. */
  interface Attempt<T> {
    T run() throws Exception;
  }

  /**
   * @throws LookupException with the message of the last failure, behind {@code what}
   */
  <T> T call(String what, Attempt<T> attempt) {
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
          throw new LookupException(what + ": " + message(e));
        }
      }
      sleep(what, pause);
      pause = Math.min(2 * pause, longest);
    }
  }

  private static String message(Exception e) {
    String message = e.getMessage();
    return message == null ? e.getClass().getSimpleName() : message.lines().findFirst().orElse("");
  }

  /** Interrupted is who is told to stop: the task ends, and its batch is run again if need be. */
  static void sleep(String what, long nanos) {
    try {
      TimeUnit.NANOSECONDS.sleep(nanos);
    } catch (InterruptedException e) {
      throw stopped(what);
    }
  }

  private static LookupException stopped(String what) {
    Thread.currentThread().interrupt();
    return new LookupException(what + ": stopped while waiting");
  }
}
