package io.streamsql.serving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class ScanThreadsTest {
  @Test
  void workIsDoneByOneOfTheThreadsThatAreNamed() throws IOException {
    List<Integer> ids = ScanThreads.ids();
    assertEquals(ScanThreads.number(), ids.size());
    String own = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
    String its =
        ScanThreads.run(
            () -> Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString());
    assertTrue(ids.contains(Integer.valueOf(its)), its);
    assertTrue(!ids.contains(Integer.valueOf(own)), own);
  }

  @Test
  void whatTheWorkThrowsIsThrown() {
    RuntimeException failure = new IllegalArgumentException("no");
    Error error = new StackOverflowError();
    assertSame(failure, assertThrows(RuntimeException.class, () -> fail(failure)));
    assertSame(error, assertThrows(Error.class, () -> fail(error)));
    IOException checked = new IOException("disk");
    Throwable told = assertThrows(IllegalStateException.class, () -> fail(checked));
    assertSame(checked, told.getCause());
  }

  @Test
  void whoIsInterruptedWaitsForTheWorkAndStaysInterrupted() {
    Thread.currentThread().interrupt();
    assertEquals(7, ScanThreads.run(() -> 7));
    assertTrue(Thread.interrupted());
  }

  private static void fail(Throwable failure) {
    ScanThreads.run(
        () -> {
          if (failure instanceof Exception exception) {
            throw exception;
          }
          throw (Error) failure;
        });
  }
}
