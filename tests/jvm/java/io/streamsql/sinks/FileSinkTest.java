package io.streamsql.sinks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.files.CheckedLocalFiles;
import io.streamsql.files.LocalFiles;
import io.streamsql.sinks.Decision.Move;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a batch comes to, wherever an attempt at it has ended. */
@Timeout(60)
class FileSinkTest {
  private static final String CHECKPOINT = UUID.randomUUID().toString();
  private static final String ROW = "{\"id\": 1}\n";

  @TempDir private Path folder;
  private Configuration conf;
  private Path root;

  @BeforeEach
  void start() {
    conf = new Configuration(false);
    conf.set("fs.AbstractFileSystem.file.impl", LocalFiles.class.getName());
    conf.set("fs.file.impl", CheckedLocalFiles.class.getName());
    root = folder.resolve("out put%3A");
  }

  private StagedFiles staged() throws IOException {
    return new StagedFiles(root.toString(), CHECKPOINT, conf);
  }

  private Decisions decisions() throws IOException {
    String checkpoint = folder.resolve("checkpoint/files").toString();
    return new Decisions(new org.apache.hadoop.fs.Path(checkpoint), conf);
  }

  /** What an attempt has written, as Spark does. */
  private Decision attempt(long batch, String... names) throws IOException {
    StagedFiles staged = staged();
    org.apache.hadoop.fs.Path attempt = staged.attempt(batch);
    for (String name : names) {
      Path file = Path.of(attempt.toUri().getPath()).resolve(name);
      Files.createDirectories(file.getParent());
      Files.writeString(file, name.contains("00000") ? "" : ROW);
    }
    return staged.decision(attempt, batch, "JSON");
  }

  /** All files below the root. */
  private List<String> found() throws IOException {
    try (Stream<Path> files = Files.walk(root)) {
      return files
          .filter(Files::isRegularFile)
          .map(f -> root.relativize(f).toString())
          .sorted()
          .toList();
    }
  }

  private static String called(long batch, int task) {
    String writer = CHECKPOINT.replace("-", "").substring(0, 12);
    return String.format("part-%010d-%05d-c000-%s.json", batch, task, writer);
  }

  @Test
  void namesSayBatchAndTaskAndFilesWithoutRowsAreLeftOut() throws IOException {
    String[] names = {
      "part-00000-c000.json.staged",
      "part-00001-c000.json.staged",
      "A=x%2Fy/part-00002-c000.json.staged",
      "_SUCCESS",
      ".part-00003.json.crc"
    };
    Decision decision = attempt(7, names);
    StagedFiles.carryOut(decision, conf);
    staged().discardUpTo(7);
    assertEquals(List.of("A=x%2Fy/" + called(7, 2), called(7, 1)), found());
    try (Stream<Path> left = Files.list(root)) {
      assertEquals(2, left.count());
    }
  }

  @Test
  void whatIsLeftToRenameIsRenamedAgain() throws IOException {
    Decision decision =
        attempt(3, "part-00001-c000.json.staged", "B=1/part-00002-c000.json.staged");
    assertTrue(decisions().decide(3, decision));
    Decision first = new Decision(decision.moves().subList(0, 1));
    StagedFiles.carryOut(first, conf);
    // Here it is killed.
    Optional<Decision> known = decisions().of(3);
    assertEquals(Optional.of(decision), known);
    StagedFiles.carryOut(known.get(), conf);
    StagedFiles.carryOut(known.get(), conf);
    staged().discardUpTo(3);
    assertEquals(List.of("B=1/" + called(3, 2), called(3, 1)), found());
  }

  @Test
  void anAttemptThatDecidedNothingLeavesNothing() throws IOException {
    attempt(3, "part-00001-c000.json.staged", "B=1/part-00002-c000.json.staged");
    assertEquals(Optional.empty(), decisions().of(3));
    Decision decision = attempt(3, "part-00005-c000.json.staged");
    assertTrue(decisions().decide(3, decision));
    StagedFiles.carryOut(decision, conf);
    staged().discardUpTo(3);
    assertEquals(List.of(called(3, 5)), found());
  }

  @Test
  void whatIsStagedForALaterBatchStays() throws IOException {
    Decision later = attempt(4, "part-00001-c000.json.staged");
    attempt(3, "part-00001-c000.json.staged");
    staged().discardUpTo(3);
    StagedFiles.carryOut(later, conf);
    staged().discardUpTo(4);
    assertEquals(List.of(called(4, 1)), found());
  }

  @RepeatedTest(20)
  void ofManyAttemptsOneDecides() throws Exception {
    List<Callable<Boolean>> attempts = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      Decision decision = new Decision(List.of(new Move("from " + i, "to " + i)));
      attempts.add(() -> decisions().decide(1, decision));
    }
    ExecutorService threads = Executors.newFixedThreadPool(8);
    int decided = 0;
    for (Future<Boolean> attempt : threads.invokeAll(attempts)) {
      decided += attempt.get() ? 1 : 0;
    }
    threads.shutdown();
    assertEquals(1, decided);
    assertEquals(1, decisions().of(1).orElseThrow().moves().size());
  }

  @Test
  void oldDecisionsAreForgotten() throws IOException {
    Decision nothing = new Decision(List.of());
    for (long batch : new long[] {1, 2, 150, 151}) {
      assertTrue(decisions().decide(batch, nothing));
    }
    decisions().forgetBefore(151);
    assertTrue(decisions().of(1).isEmpty() && decisions().of(2).isEmpty());
    assertFalse(decisions().of(150).isEmpty() || decisions().of(151).isEmpty());
  }

  @Test
  void whatALaterVersionDecidedIsRefused() {
    byte[] later = "{\"version\": 2, \"files\": []}".getBytes(StandardCharsets.UTF_8);
    assertThrows(IOException.class, () -> Decision.of(later));
  }
}
