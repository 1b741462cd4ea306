package io.streamsql.sinks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.Optional;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Options.CreateOpts;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/** The decisions of a query's batches, each a file of its checkpoint, by the batch's number. */
final class Decisions {
  /** Older ones are deleted: no attempt that is so far behind can still be under way. */
  private static final int KEPT = 100;

  private final Path folder;
  private final FileContext files;

  Decisions(Path folder, Configuration conf) throws IOException {
    this.folder = folder;
    this.files = FileContext.getFileContext(folder.toUri(), conf);
  }

  /** What was decided for a batch, if anything was. */
  Optional<Decision> of(long batch) throws IOException {
    Path file = file(batch);
    if (!files.util().exists(file)) {
      return Optional.empty();
    }
    try (FSDataInputStream in = files.open(file)) {
      return Optional.of(Decision.of(in.readAllBytes()));
    }
  }

  /** Of several attempts at a batch one decides; false: another one has. */
  boolean decide(long batch, Decision decision) throws IOException {
    Path written = new Path(folder, "." + UUID.randomUUID() + ".tmp");
    try (FSDataOutputStream out =
        files.create(written, EnumSet.of(CreateFlag.CREATE), CreateOpts.createParent())) {
      out.write(decision.json().getBytes(StandardCharsets.UTF_8));
    }
    try {
      files.rename(written, file(batch), Rename.NONE);
      return true;
    } catch (FileAlreadyExistsException decided) {
      files.delete(written, false);
      return false;
    }
  }

  /** Deletes what nobody asks for any more once a batch is done. */
  void forgetBefore(long batch) throws IOException {
    RemoteIterator<FileStatus> found = files.listStatus(folder);
    while (found.hasNext()) {
      Path file = found.next().getPath();
      if (isOutdated(file.getName(), batch)) {
        files.delete(file, false);
      }
    }
  }

  private static boolean isOutdated(String name, long batch) {
    boolean numbered = name.chars().allMatch(Character::isDigit);
    return numbered && Long.parseLong(name) < batch - KEPT;
  }

  private Path file(long batch) {
    return new Path(folder, Long.toString(batch));
  }
}
