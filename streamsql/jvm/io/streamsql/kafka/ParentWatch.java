package io.streamsql.kafka;

import java.io.IOException;
import java.io.OutputStream;

/**
 * Ends the process when its standard input ends, which happens when the engine at its other end
 * exits or crashes.
 */
final class ParentWatch {
  private static final long SHUTDOWN_MILLIS = 15_000;

  private ParentWatch() {}

  static void start() {
    inBackground("streamsql-parent-watch", ParentWatch::exitAtEndOfInput);
  }

  private static void exitAtEndOfInput() {
    try {
      System.in.transferTo(OutputStream.nullOutputStream());
    } catch (IOException e) {
      // A broken pipe means the same as its end: the engine has exited.
    }
    inBackground("streamsql-halt", ParentWatch::haltLate);
    System.exit(0);
  }

  /** Bounds a shutdown that hangs; Kafka's logs are made to survive a halt. */
  private static void haltLate() {
    try {
      Thread.sleep(SHUTDOWN_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().halt(1);
  }

  private static void inBackground(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    thread.start();
  }
}
