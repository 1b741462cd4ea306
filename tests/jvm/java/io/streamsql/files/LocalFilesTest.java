package io.streamsql.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.local.LocalFs;
import org.apache.hadoop.fs.permission.FsPermission;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files as Spark reaches them: by a FileContext and by a FileSystem. */
@Timeout(60)
class LocalFilesTest {
  @TempDir private Path folder;
  private Both ours;

  /** Hadoop's two ways to files. */
  private record Both(FileContext context, FileSystem system) {
    static Both of(Class<?> context, Class<?> system, String... settings) throws IOException {
      Configuration conf = new Configuration(false);
      conf.set("fs.AbstractFileSystem.file.impl", context.getName());
      conf.set("fs.file.impl", system.getName());
      for (int i = 0; i < settings.length; i += 2) {
        conf.set(settings[i], settings[i + 1]);
      }
      URI root = URI.create("file:///");
      return new Both(FileContext.getFileContext(root, conf), FileSystem.newInstance(root, conf));
    }

    /** As Spark writes the temporary file of a checkpoint. */
    void write(Path file, String text) throws IOException {
      EnumSet<CreateFlag> flags = EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE);
      try (FSDataOutputStream out = context.create(hadoops(file), flags)) {
        out.writeBytes(text);
      }
    }

    /** By the way that looks at .crc files. */
    String read(Path file) throws IOException {
      try (FSDataInputStream in = system.open(hadoops(file))) {
        return new String(in.readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
      }
    }

    void rename(Path from, Path to, Rename how) throws IOException {
      context.rename(hadoops(from), hadoops(to), how);
    }
  }

  private static org.apache.hadoop.fs.Path hadoops(Path file) {
    return new org.apache.hadoop.fs.Path(file.toString());
  }

  @BeforeEach
  void open() throws IOException {
    ours = Both.of(LocalFiles.class, CheckedLocalFiles.class);
  }

  private List<String> names() throws IOException {
    try (Stream<Path> found = Files.list(folder)) {
      return found.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  // -- links -------------------------------------------------------------------------------------

  @Test
  void aLinkDiffersFromItsTarget() throws Exception {
    Path target = Files.writeString(folder.resolve("target"), "12345");
    Path link = Files.createSymbolicLink(folder.resolve("link"), Path.of("target"));
    List<FileStatus> statuses =
        List.of(
            ours.context.getFileLinkStatus(hadoops(link)),
            ours.system.getFileLinkStatus(hadoops(link)));
    for (FileStatus status : statuses) {
      assertTrue(status.isSymlink());
      assertFalse(status.isFile());
      assertEquals("file:" + target, status.getSymlink().toString());
    }
    assertEquals(5, ours.context.getFileStatus(hadoops(link)).getLen());
    assertFalse(ours.context.getFileLinkStatus(hadoops(target)).isSymlink());
    assertEquals("target", ours.context.getLinkTarget(hadoops(link)).getName());
  }

  @Test
  void aLinkToNothing() throws Exception {
    Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("nothing"));
    FileStatus status = ours.context.getFileLinkStatus(hadoops(link));
    assertTrue(status.isSymlink());
    assertEquals(Files.getOwner(folder).getName(), status.getOwner());
    assertThrows(FileNotFoundException.class, () -> ours.context.getFileStatus(hadoops(link)));
    assertTrue(ours.context.delete(hadoops(link), false));
    assertEquals(List.of(), names());
  }

  @Test
  void deletingALinkLeavesWhatItPointsTo() throws Exception {
    Path kept = Files.createDirectory(folder.resolve("kept"));
    Files.writeString(kept.resolve("file"), "kept");
    Files.createSymbolicLink(folder.resolve("link"), kept);
    Path outer = Files.createDirectory(folder.resolve("outer"));
    Files.createSymbolicLink(outer.resolve("inner"), kept);
    assertTrue(ours.context.delete(hadoops(folder.resolve("link")), true));
    assertTrue(ours.context.delete(hadoops(outer), true));
    assertEquals(List.of("kept"), names());
    assertEquals("kept", Files.readString(kept.resolve("file")));
  }

  @Test
  void aFolderBehindALinkIsAFolder() throws Exception {
    Path real = Files.createDirectory(folder.resolve("real"));
    Path link = Files.createSymbolicLink(folder.resolve("link"), real);
    Path inner = link.resolve("a/b");
    ours.context.mkdir(hadoops(inner), FsPermission.getDirDefault(), true);
    ours.context.mkdir(hadoops(link), FsPermission.getDirDefault(), true);
    ours.write(inner.resolve("from"), "x");
    ours.rename(inner.resolve("from"), inner.resolve("to"), Rename.NONE);
    assertEquals("x", Files.readString(real.resolve("a/b/to")));
  }

  // -- what is known of a file -------------------------------------------------------------------

  @Test
  void whatIsKnownOfAFile() throws Exception {
    Path file = Files.writeString(folder.resolve("file"), "123");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
    FileStatus[] found = ours.system.listStatus(hadoops(file));
    assertEquals(1, found.length);
    assertEquals(3, found[0].getLen());
    assertEquals("rw-r-----", found[0].getPermission().toString());
    assertEquals(Files.getOwner(file).getName(), found[0].getOwner());
    assertEquals(Files.getAttribute(file, "unix:group").toString(), found[0].getGroup());
    assertEquals(Files.getLastModifiedTime(file).toMillis(), found[0].getModificationTime());
    Path none = folder.resolve("none");
    assertThrows(FileNotFoundException.class, () -> ours.system.getFileStatus(hadoops(none)));
  }

  @Test
  void aNameIsTheSameHoweverAFileIsAskedFor() throws Exception {
    Files.createFile(folder.resolve("a b%:c"));
    Set<String> names = new TreeSet<>();
    for (String prefix : List.of("", "file:", "file://")) {
      var asked = new org.apache.hadoop.fs.Path(prefix + folder);
      names.add(ours.system.listStatus(asked)[0].getPath().toUri().toString());
    }
    assertEquals(Set.of("file://" + folder + "/a%20b%25:c"), names);
  }

  // -- permissions -------------------------------------------------------------------------------

  @ParameterizedTest
  @CsvSource({"022, rw-r--r--, rwxr-xr-x", "077, rw-------, rwx------"})
  void permissionsAreWhatHadoopsUmaskLeaves(String umask, String ofFile, String ofFolder)
      throws Exception {
    Both masked =
        Both.of(LocalFiles.class, CheckedLocalFiles.class, FsPermission.UMASK_LABEL, umask);
    Path inner = folder.resolve("a/b");
    masked.context.mkdir(hadoops(inner), null, true);
    masked.write(inner.resolve("one"), "");
    masked.system.create(hadoops(inner.resolve("two"))).close();
    for (Path made : List.of(inner.getParent(), inner)) {
      assertEquals(PosixFilePermissions.fromString(ofFolder), Files.getPosixFilePermissions(made));
    }
    for (String name : List.of("one", "two")) {
      assertEquals(
          PosixFilePermissions.fromString(ofFile),
          Files.getPosixFilePermissions(inner.resolve(name)));
    }
  }

  @Test
  void permissionsCanBeSetWithTheStickyBit() throws Exception {
    ours.system.setPermission(hadoops(folder), new FsPermission((short) 01750));
    assertEquals(01750, (int) Files.getAttribute(folder, "unix:mode") & 07777);
    assertEquals(01750, ours.system.getFileStatus(hadoops(folder)).getPermission().toShort());
  }

  // -- renames -----------------------------------------------------------------------------------

  @Test
  void aRenameReplacesInOneStep() throws Exception {
    Path target = Files.writeString(folder.resolve("target"), "old");
    AtomicBoolean done = new AtomicBoolean();
    ExecutorService pool = Executors.newSingleThreadExecutor();
    try {
      Future<Integer> missed =
          pool.submit(
              () -> {
                int count = 0;
                while (!done.get()) {
                  count += Files.exists(target) ? 0 : 1;
                }
                return count;
              });
      for (int i = 0; i < 1000; i++) {
        Path source = Files.writeString(folder.resolve("source"), "" + i);
        ours.rename(source, target, Rename.OVERWRITE);
      }
      done.set(true);
      assertEquals(0, missed.get());
    } finally {
      done.set(true);
      pool.shutdown();
    }
    assertEquals("999", Files.readString(target));
    assertEquals(List.of("target"), names());
  }

  @RepeatedTest(50)
  void ofSeveralWhoGiveOneNameOneSucceeds() throws Exception {
    Path target = folder.resolve("target");
    List<Callable<String>> givers = new ArrayList<>();
    for (String text : List.of("a", "b", "c", "d")) {
      Path source = Files.writeString(folder.resolve(text), text);
      givers.add(
          () -> {
            try {
              ours.rename(source, target, Rename.NONE);
              return text;
            } catch (FileAlreadyExistsException e) {
              return "";
            }
          });
    }
    ExecutorService pool = Executors.newFixedThreadPool(givers.size());
    try {
      StringBuilder given = new StringBuilder();
      for (Future<String> result : pool.invokeAll(givers)) {
        given.append(result.get());
      }
      assertEquals(Files.readString(target), given.toString());
    } finally {
      pool.shutdown();
    }
  }

  @Test
  void whatCannotBeRenamed() throws Exception {
    Path file = Files.createFile(folder.resolve("file"));
    Path to = folder.resolve("to");
    for (Rename how : List.of(Rename.NONE, Rename.OVERWRITE)) {
      assertThrows(FileNotFoundException.class, () -> ours.rename(folder.resolve("none"), to, how));
      assertThrows(
          FileNotFoundException.class, () -> ours.rename(file, folder.resolve("x/to"), how));
      assertThrows(FileAlreadyExistsException.class, () -> ours.rename(file, file, how));
    }
    assertEquals(List.of("file"), names());
  }

  // -- durability --------------------------------------------------------------------------------

  private List<RecordedEvent> recorded(String event, Callable<Void> work) throws Exception {
    Path file = Files.createTempFile("recording", ".jfr");
    try (Recording recording = new Recording()) {
      recording.enable(event).withoutThreshold();
      recording.start();
      work.call();
      recording.stop();
      recording.dump(file);
      return RecordingFile.readAllEvents(file);
    } finally {
      Files.delete(file);
    }
  }

  private List<String> synced(Callable<Void> work) throws Exception {
    return recorded("jdk.FileForce", work).stream().map(e -> e.getString("path")).toList();
  }

  @Test
  void whatIsClosedOrRenamedIsOnTheDisk() throws Exception {
    Path source = folder.resolve("source");
    Path inner = folder.resolve("inner");
    Path target = inner.resolve("target");
    List<String> synced =
        synced(
            () -> {
              ours.context.mkdir(hadoops(inner), null, true);
              ours.write(source, "x");
              ours.rename(source, target, Rename.NONE);
              return null;
            });
    List<Path> wanted = List.of(folder, source, folder, inner, folder);
    assertEquals(wanted.stream().map(Path::toString).toList(), synced);
  }

  @Test
  void aThreadThatIsInterruptedSyncsAllTheSame() throws Exception {
    Path file = folder.resolve("file");
    List<String> synced =
        synced(
            () -> {
              Thread.currentThread().interrupt();
              ours.write(file, "x");
              assertTrue(Thread.interrupted(), "it is still to end");
              return null;
            });
    assertEquals(List.of(file.toString(), folder.toString()), synced);
    assertEquals("x", Files.readString(file));
  }

  @Test
  void aStreamCanBeSyncedBeforeItIsClosed() throws Exception {
    Path file = folder.resolve("file");
    try (FSDataOutputStream out =
        ours.context.create(hadoops(file), EnumSet.of(CreateFlag.CREATE))) {
      assertTrue(out.hasCapability("hsync"));
      out.writeBytes("x");
      List<String> synced =
          synced(
              () -> {
                out.hsync();
                return null;
              });
      assertEquals(List.of(file.toString()), synced);
      assertEquals("x", Files.readString(file));
    }
  }

  @Test
  void noProcessIsStarted() throws Exception {
    List<RecordedEvent> started =
        recorded(
            "jdk.ProcessStart",
            () -> {
              Path source = folder.resolve("source");
              ours.write(source, "x");
              ours.rename(source, folder.resolve("target"), Rename.OVERWRITE);
              ours.context.mkdir(hadoops(folder.resolve("made")), null, true);
              FileStatus status = ours.system.listStatus(hadoops(folder))[0];
              assertFalse(status.getOwner().isEmpty());
              ours.system.setPermission(status.getPath(), status.getPermission());
              ours.system.setOwner(status.getPath(), status.getOwner(), status.getGroup());
              return null;
            });
    assertEquals(List.of(), started);
  }

  // -- checksums that Hadoop has left ------------------------------------------------------------

  @Test
  void aChecksumOfBeforeDoesNotDamnANewFile() throws Exception {
    Both hadoops = Both.of(LocalFs.class, LocalFileSystem.class);
    Path written = folder.resolve("written");
    Path renamed = folder.resolve("renamed");
    Path deleted = folder.resolve("deleted");
    for (Path file : List.of(written, renamed, deleted)) {
      hadoops.write(file, "before");
      assertTrue(Files.exists(folder.resolve("." + file.getFileName() + ".crc")));
    }
    String[] listed =
        Arrays.stream(ours.context.util().listStatus(hadoops(folder)))
            .map(status -> status.getPath().getName())
            .sorted()
            .toArray(String[]::new);
    assertArrayEquals(new String[] {"deleted", "renamed", "written"}, listed);
    assertEquals("before", ours.read(written));
    ours.write(written, "after");
    ours.write(folder.resolve("source"), "after");
    ours.rename(folder.resolve("source"), renamed, Rename.OVERWRITE);
    assertTrue(ours.context.delete(hadoops(deleted), false));
    assertEquals("after", ours.read(written));
    assertEquals("after", ours.read(renamed));
    assertEquals(List.of("renamed", "written"), names());
  }
}
