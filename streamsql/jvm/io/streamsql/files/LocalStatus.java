package io.streamsql.files;

import static java.nio.file.LinkOption.NOFOLLOW_LINKS;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributes;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The status of a file or link. The names of its owner and group are looked up when they are used,
 * since that may ask a directory service.
 */
final class LocalStatus extends FileStatus {
  private static final long serialVersionUID = 1L;
  private static final int PERMISSIONS = 01777;
  private final transient java.nio.file.Path file;

  /**
   * @param attributes of the view {@code unix}
   * @param target of a link; null for a file
   */
  LocalStatus(
      Map<String, Object> attributes,
      long blockSize,
      Path target,
      Path path,
      java.nio.file.Path file)
      throws IOException {
    super(
        (long) attributes.get("size"),
        (boolean) attributes.get("isDirectory"),
        1,
        blockSize,
        ((FileTime) attributes.get("lastModifiedTime")).toMillis(),
        ((FileTime) attributes.get("lastAccessTime")).toMillis(),
        new FsPermission((short) ((int) attributes.get("mode") & PERMISSIONS)),
        null,
        null,
        target,
        path);
    this.file = file;
  }

  @Override
  public String getOwner() {
    load();
    return super.getOwner();
  }

  @Override
  public String getGroup() {
    load();
    return super.getGroup();
  }

  private void load() {
    if (file == null || !super.getOwner().isEmpty()) {
      return;
    }
    LinkOption[] links = isSymlink() ? new LinkOption[] {NOFOLLOW_LINKS} : new LinkOption[0];
    try {
      var attributes = Files.readAttributes(file, PosixFileAttributes.class, links);
      setOwner(attributes.owner().getName());
      setGroup(attributes.group().getName());
    } catch (IOException e) {
      // Deleted meanwhile: unknown, which an empty name means.
    }
  }
}
