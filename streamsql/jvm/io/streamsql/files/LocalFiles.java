package io.streamsql.files;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.EnumSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.Options.ChecksumOpt;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.apache.spark.network.util.JavaUtils;

/**
 * Hadoop's {@code file:} FileContext, through which Spark writes its checkpoints: see {@link
 * RawLocalFiles}. Written for Hadoop 3.5 and Spark 4.3.
 *
 * <p>It writes no {@code .crc} files: Spark keeps checksums of its own beside the files of a
 * checkpoint. Those that Hadoop left in an older checkpoint are hidden, and deleted with their
 * file: {@link CheckedLocalFiles}, which reads them, would take a new file for a damaged one.
 */
public final class LocalFiles extends DelegateToFileSystem {
  static {
    // On Unix, Spark starts `rm -rf` for each working folder of a state store, two per commit, in
    // sequence: some 20 ms each, against less than a millisecond here.
    JavaUtils.isUnix = false;
  }

  private final RawLocalFiles files;

  /** Called by Hadoop, by reflection. */
  public LocalFiles(URI uri, Configuration conf) throws IOException, URISyntaxException {
    this(uri, conf, new RawLocalFiles());
  }

  private LocalFiles(URI uri, Configuration conf, RawLocalFiles files)
      throws IOException, URISyntaxException {
    super(uri, files, conf, FsConstants.LOCAL_FS_URI.getScheme(), false);
    this.files = files;
  }

  @Override
  public int getUriDefaultPort() {
    return -1;
  }

  @Override
  public boolean isValidName(String name) {
    return true;
  }

  @Override
  public FSDataOutputStream createInternal(
      Path path,
      EnumSet<CreateFlag> flags,
      FsPermission permission,
      int bufferSize,
      short replication,
      long blockSize,
      Progressable progress,
      ChecksumOpt checksum,
      boolean createParent)
      throws IOException {
    removeChecksum(path);
    return super.createInternal(
        path,
        flags,
        permission,
        bufferSize,
        replication,
        blockSize,
        progress,
        checksum,
        createParent);
  }

  /** In one step; Hadoop's rename deletes the target first. */
  @Override
  public void renameInternal(Path source, Path target, boolean overwrite) throws IOException {
    checkPath(source);
    checkPath(target);
    removeChecksum(target);
    files.rename(source, target, overwrite ? Rename.OVERWRITE : Rename.NONE);
  }

  @Override
  public boolean truncate(Path path, long length) throws IOException {
    removeChecksum(path);
    return super.truncate(path, length);
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    removeChecksum(path);
    return super.delete(path, recursive);
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    return Arrays.stream(super.listStatus(path))
        .filter(status -> !ChecksumFs.isChecksumFile(status.getPath()))
        .toArray(FileStatus[]::new);
  }

  /**
   * Before the file changes: a file without a checksum is valid, one with an outdated checksum is
   * not.
   */
  private void removeChecksum(Path path) throws IOException {
    checkPath(path);
    java.nio.file.Path file = files.file(path);
    if (file.getFileName() != null) {
      Files.deleteIfExists(file.resolveSibling("." + file.getFileName() + ".crc"));
    }
  }
}
