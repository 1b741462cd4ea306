package io.streamsql.monitoring;

/**
 * JVM errors that end a thread. Spark reports those of a task and of a query's thread, and other
 * queries continue. The effect of losing any other thread is unknown, so the process exits and is
 * restarted.
 */
public final class FatalErrors {
  private static final int STATUS = 52; // Spark's exit code for a heap that is too small.
  private static final String OF_A_QUERY = "stream execution thread for";

  private FatalErrors() {}

  /** Installs the handler in this process. */
  public static void watch() {
    Thread.setDefaultUncaughtExceptionHandler(FatalErrors::uncaught);
  }

  // Loggers may allocate memory; System.err has its buffer already.
  @SuppressWarnings("SystemOut")
  private static void uncaught(Thread thread, Throwable error) {
    boolean fatal = error instanceof VirtualMachineError;
    try {
      System.err.println("Uncaught in thread " + thread.getName() + ": " + error);
      if (!fatal) {
        error.printStackTrace();
      }
    } finally {
      if (fatal && !thread.getName().startsWith(OF_A_QUERY)) {
        Runtime.getRuntime().halt(STATUS);
      }
    }
  }
}
