package io.streamsql.files;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Writes checkpoint files in an object store: each in one atomic request. The store itself refuses
 * to replace a file that must not be replaced ({@code If-None-Match}). So if two engines run the
 * same query, one of them writes a batch's offsets, and the other one fails.
 *
 * <p>Spark's default writes under another name and renames: in an object store a copy, which
 * overwrites. Local files, such as those of push queries, are written that way. Written for Hadoop
 * 3.5 and Spark 4.3.
 */
public final class CheckpointFiles extends FileSystemBasedCheckpointFileManager {
  private static final String SCHEME = "s3a";

  private final Path folder;
  private final FileSystem store;
  private final FileContextBasedCheckpointFileManager local;

  /** Called by Spark, by reflection. */
  public CheckpointFiles(Path path, Configuration conf) throws IOException {
    super(path, conf);
    folder = path;
    store = path.getFileSystem(conf);
    local =
        SCHEME.equals(store.getScheme())
            ? null
            : new FileContextBasedCheckpointFileManager(path, conf);
  }

  @Override
  public CancellableFSDataOutputStream createAtomic(Path path, boolean overwrite) {
    if (local != null) {
      return local.createAtomic(path, overwrite);
    }
    try {
      return new Upload(store, StoreFiles.create(store, path, overwrite), path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A folder exists while it has a file: a marker object would have to be deleted later. */
  @Override
  public void mkdirs(Path path) {
    if (local != null) {
      local.mkdirs(path);
    }
  }

  @Override
  public Path createCheckpointDirectory() {
    return local != null ? local.createCheckpointDirectory() : store.makeQualified(folder);
  }

  @Override
  public FileStatus[] list(Path path, PathFilter filter) {
    if (local != null) {
      return local.list(path, filter);
    }
    try {
      return StoreFiles.list(store, path).stream()
          .filter(status -> filter.accept(status.getPath()))
          .toArray(FileStatus[]::new);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Exists once it is closed; a cancelled file never exists. */
  private static final class Upload extends CancellableFSDataOutputStream {
    private final FileSystem store;
    private final FSDataOutputStream upload;
    private final Path path;
    private boolean ended;

    Upload(FileSystem store, FSDataOutputStream upload, Path path) {
      super(upload);
      this.store = store;
      this.upload = upload;
      this.path = path;
    }

    @Override
    public synchronized void cancel() {
      if (!ended) {
        ended = true;
        upload.abort();
      }
    }

    @Override
    public synchronized void close() throws IOException {
      if (!ended) {
        ended = true;
        StoreFiles.close(upload, store, path);
      }
    }
  }
}
