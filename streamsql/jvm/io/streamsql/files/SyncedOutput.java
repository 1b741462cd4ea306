package io.streamsql.files;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.impl.StoreImplementationUtils;

/**
 * Writes a file; after it is closed, the file and its name survive a power failure.
 *
 * <p>Without a FileChannel, which closes when its thread is interrupted while writing: Spark
 * interrupts the threads that it stops.
 */
final class SyncedOutput extends OutputStream implements Syncable, StreamCapabilities {
  private final Path file;
  private final FileOutputStream out;
  private boolean isOpen = true;

  /**
   * @param append whether to keep the file's content
   */
  SyncedOutput(Path file, boolean append) throws IOException {
    this.file = file;
    this.out = new FileOutputStream(file.toFile(), append);
  }

  @Override
  public void write(int b) throws IOException {
    out.write(b);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    out.write(bytes, offset, length);
  }

  /** Others see written data at once. */
  @Override
  public void hflush() {}

  @Override
  public void hsync() throws IOException {
    sync(file, StandardOpenOption.WRITE);
  }

  @Override
  public boolean hasCapability(String capability) {
    return StoreImplementationUtils.isProbeForSyncable(capability);
  }

  @Override
  public void close() throws IOException {
    if (!isOpen) {
      return;
    }
    isOpen = false;
    out.close();
    hsync();
    syncFolderOf(file);
  }

  /** Makes the names in a file's folder durable. */
  static void syncFolderOf(Path file) throws IOException {
    Path folder = file.toAbsolutePath().getParent();
    // Windows cannot open folders, and makes names durable itself.
    if (folder != null && !folder.getFileSystem().getSeparator().equals("\\")) {
      sync(folder, StandardOpenOption.READ);
    }
  }

  private static void sync(Path path, OpenOption access) throws IOException {
    boolean interrupted = false;
    try {
      while (true) {
        interrupted |= Thread.interrupted();
        try (FileChannel channel = FileChannel.open(path, access)) {
          channel.force(true);
          return;
        } catch (ClosedByInterruptException e) {
          // Restores the thread's interrupt status.
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
