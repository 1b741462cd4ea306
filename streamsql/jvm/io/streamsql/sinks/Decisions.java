package io.streamsql.sinks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;

/** The decisions of a query's batches, each a file of its checkpoint, by batch number. */
final class Decisions {
  /** Older ones are deleted: no attempt that far behind can still be running. */
  private static final int KEPT = 100;

  private final Path folder;
  private final CheckpointFileManager files;

  Decisions(Path folder, Configuration conf) throws IOException {
    this.folder = folder;
    this.files = CheckpointFileManager.create(folder, conf);
    files.mkdirs(folder);
  }

  /** The decision for a batch, if there is one. */
  Optional<Decision> of(long batch) throws IOException {
    Path file = file(batch);
    if (!files.exists(file)) {
      return Optional.empty();
    }
    try (FSDataInputStream in = files.open(file)) {
      return Optional.of(Decision.of(in.readAllBytes()));
    }
  }

  /** Stores the decision of one of several attempts at a batch; false: another one was stored. */
  boolean decide(long batch, Decision decision) throws IOException {
    CheckpointFileManager.CancellableFSDataOutputStream out =
        files.createAtomic(file(batch), false);
    try {
      out.write(decision.json().getBytes(StandardCharsets.UTF_8));
      out.close();
      return true;
    } catch (FileAlreadyExistsException decided) {
      out.cancel();
      return false;
    } catch (IOException | RuntimeException e) {
      out.cancel();
      throw e;
    }
  }

  /** Deletes outdated decisions once a batch is done. */
  void forgetBefore(long batch) throws IOException {
    for (FileStatus found : files.list(folder)) {
      if (isOutdated(found.getPath().getName(), batch)) {
        files.delete(found.getPath());
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
