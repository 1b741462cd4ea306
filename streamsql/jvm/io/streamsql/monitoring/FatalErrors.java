package io.streamsql.monitoring;

/**
 * Errors of the JVM that end a thread. Those of a task are the task's, and those of a query's own
 * thread the query's: Spark says so, and the others go on. Of any other thread nobody knows who
 * waits for it, so the process ends, and is started anew.
 */
public final class FatalErrors {
  private static final int STATUS = 52; // Spark's, for a heap that is too small.
  private static final String OF_A_QUERY = "stream execution thread for";

  private FatalErrors() {}

  /** From now on, in this process. */
  public static void watch() {
    Thread.setDefaultUncaughtExceptionHandler(FatalErrors::uncaught);
  }

  // What logs may need memory that there is none of: System.err has its buffer already.
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
