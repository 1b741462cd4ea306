package io.streamsql.serving;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The threads that scan the rows of tables: one fewer than there are processors, which is left to
 * the queries.
 *
 * <p>A scan uses a processor for a second, a record of a query needs one for less than a
 * millisecond, but at once. So the operating system has to give these threads a lower priority
 * ({@link #ids}), which Java cannot set for single threads.
 */
public final class ScanThreads {
  private static final Path THIS_THREAD = Path.of("/proc/thread-self");
  private static final List<Integer> IDS = new ArrayList<>();

  private ScanThreads() {}

  /** The number of threads. */
  static int number() {
    return Math.max(1, Runtime.getRuntime().availableProcessors() - 1);
  }

  /** The threads' numbers in the operating system; empty if unknown (not Linux). */
  public static List<Integer> ids() {
    Pool.begin();
    synchronized (IDS) {
      return List.copyOf(IDS);
    }
  }

  /** Does some work on one of the threads and waits for it; throws what the work throws. */
  static <T> T run(Callable<T> work) {
    Future<T> done = Pool.THREADS.submit(work);
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return done.get();
        } catch (InterruptedException e) {
          // The work reads memory that its caller frees afterwards: it has to end before.
          interrupted = true;
        }
      }
    } catch (ExecutionException e) {
      throw thrown(e.getCause());
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static RuntimeException thrown(Throwable cause) {
    if (cause instanceof Error error) {
      throw error;
    }
    return cause instanceof RuntimeException known ? known : new IllegalStateException(cause);
  }

  /** A class of its own: its threads register while it loads, and wait for no class. */
  private static final class Pool {
    private static final CountDownLatch BEGUN = new CountDownLatch(number());
    static final ExecutorService THREADS = start((int) BEGUN.getCount(), BEGUN);

    static void begin() {
      try {
        BEGUN.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static ExecutorService start(int number, CountDownLatch begun) {
    ExecutorService threads =
        Executors.newFixedThreadPool(
            number,
            work -> {
              Thread thread =
                  new Thread(
                      () -> {
                        note();
                        begun.countDown();
                        work.run();
                      },
                      "scan");
              thread.setDaemon(true);
              return thread;
            });
    for (int i = 0; i < number; i++) {
      threads.execute(() -> {});
    }
    return threads;
  }

  private static void note() {
    try {
      String number = Files.readSymbolicLink(THIS_THREAD).getFileName().toString();
      synchronized (IDS) {
        IDS.add(Integer.valueOf(number));
      }
    } catch (IOException | UnsupportedOperationException e) {
      // Not Linux: the threads have the normal priority.
    }
  }
}
