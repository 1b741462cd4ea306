package io.streamsql.files;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalFileSystem;

/**
 * Hadoop's {@code file:} FileSystem, through which Spark copies state to and from a checkpoint: see
 * {@link RawLocalFiles}. Spark casts it to LocalFileSystem, hence the base class.
 *
 * <p>It checks files that have a {@code .crc} file and writes none: the copied files are RocksDB's,
 * which hold a checksum per block.
 */
public final class CheckedLocalFiles extends LocalFileSystem {
  /** Called by Hadoop, by reflection. */
  public CheckedLocalFiles() {
    super(new RawLocalFiles());
  }

  @Override
  public void initialize(URI uri, Configuration conf) throws IOException {
    super.initialize(uri, conf);
    setWriteChecksum(false);
  }
}
