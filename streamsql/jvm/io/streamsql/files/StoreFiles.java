package io.streamsql.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathIOException;
import org.apache.spark.sql.SparkSession;

/**
 * Small files of an object store, and folders of them, by URL, for Python
 * (executor/spark/store_files.py) and {@link CheckpointFiles}. A folder exists while it contains a
 * file.
 */
public final class StoreFiles {
  private static final String CONDITIONAL = "fs.option.create.conditional.overwrite";

  /** Writes without a check whether the name is a folder's, which never happens here. */
  private static final String AT_ONCE = "fs.s3a.create.performance";

  private static final int TRIES = 5;
  private final Configuration conf;

  public StoreFiles(SparkSession spark) {
    this.conf = spark.sessionState().newHadoopConf();
  }

  /** The content of a file; null: it does not exist. */
  public byte[] read(String url) throws IOException {
    Path path = new Path(url);
    for (int tries = 1; ; tries++) {
      try (InputStream in = path.getFileSystem(conf).open(path)) {
        return in.readAllBytes();
      } catch (FileNotFoundException none) {
        return null;
      } catch (PathIOException replaced) {
        // Deleted between the length request and the read.
        if (tries == TRIES) {
          throw replaced;
        }
      }
    }
  }

  /** Replaces a file's content atomically. */
  public void write(String url, byte[] content) throws IOException {
    Path path = new Path(url);
    FSDataOutputStream out = create(path.getFileSystem(conf), path, true);
    try {
      out.write(content);
    } catch (IOException | RuntimeException e) {
      out.abort();
      throw e;
    }
    out.close();
  }

  /** The names of the files and folders in a folder. */
  public List<String> names(String url) throws IOException {
    List<String> names = new ArrayList<>();
    Path path = new Path(url);
    for (FileStatus status : list(path.getFileSystem(conf), path)) {
      names.add(status.getPath().getName());
    }
    return names;
  }

  /** Whether the file or folder exists. */
  public boolean exists(String url) throws IOException {
    Path path = new Path(url);
    FileSystem store = path.getFileSystem(conf);
    try {
      return isThere(store, store.getFileStatus(path));
    } catch (FileNotFoundException none) {
      return false;
    }
  }

  /** Deletes a file, or a folder with its content; returns whether it existed. */
  public boolean delete(String url) throws IOException {
    Path path = new Path(url);
    return path.getFileSystem(conf).delete(path, true);
  }

  /** Copies a file, or a folder with its content, and replaces existing files. */
  public void copy(String from, String to) throws IOException {
    Path source = new Path(from);
    copy(source.getFileSystem(conf), source, new Path(to));
  }

  private void copy(FileSystem store, Path source, Path target) throws IOException {
    if (store.getFileStatus(source).isDirectory()) {
      for (FileStatus status : list(store, source)) {
        copy(store, status.getPath(), new Path(target, status.getPath().getName()));
      }
      return;
    }
    try (InputStream in = store.open(source);
        OutputStream out = create(store, target, true)) {
      in.transferTo(out);
    }
  }

  /** The content of a folder; empty if it does not exist. */
  static List<FileStatus> list(FileSystem store, Path path) throws IOException {
    List<FileStatus> found = new ArrayList<>();
    try {
      for (FileStatus status : store.listStatus(path)) {
        if (isThere(store, status)) {
          found.add(status);
        }
      }
    } catch (FileNotFoundException none) {
      return List.of();
    }
    return found;
  }

  /** Some stores list a folder for minutes after its last file was deleted. */
  private static boolean isThere(FileSystem store, FileStatus status) throws IOException {
    try {
      return status.isFile() || store.listFiles(status.getPath(), true).hasNext();
    } catch (FileNotFoundException none) {
      return false;
    }
  }

  /** A new file, which exists once {@link #close} has returned. */
  static FSDataOutputStream create(FileSystem store, Path path, boolean overwrite)
      throws IOException {
    FSDataOutputStreamBuilder<?, ?> file = store.createFile(path);
    file.create();
    file.overwrite(overwrite);
    file.opt(AT_ONCE, true);
    if (!overwrite) {
      file.must(CONDITIONAL, true);
    }
    return file.build();
  }

  /**
   * Completes the file.
   *
   * @throws FileAlreadyExistsException if it must not replace an existing one
   */
  static void close(FSDataOutputStream out, FileSystem store, Path path) throws IOException {
    try {
      out.close();
    } catch (PathIOException refused) {
      if (!store.exists(path)) {
        throw refused;
      }
      throw (IOException)
          new FileAlreadyExistsException(path + " already exists").initCause(refused);
    }
  }
}
