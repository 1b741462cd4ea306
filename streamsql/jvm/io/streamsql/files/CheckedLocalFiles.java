package io.streamsql.files;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalFileSystem;

/**
 * The {@code file:} of Hadoop's FileSystem, through which Spark copies state to and from a
 * checkpoint: see {@link RawLocalFiles}. Spark casts it to LocalFileSystem, hence the base class.
 *
 * <p>It checks files that have a {@code .crc} file and writes none: what is copied are RocksDB's
 * files, which hold a checksum for each of their blocks.
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
