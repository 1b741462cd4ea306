package io.streamsql.files;

import static java.nio.file.LinkOption.NOFOLLOW_LINKS;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.AccessDeniedException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.util.Arrays;
import org.apache.hadoop.fs.FSLinkResolver;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.security.AccessControlException;

/**
 * Local files by java.nio. It differs from its base class, whose native library PySpark does not
 * contain, in three respects:
 *
 * <ul>
 *   <li>It starts no process. The base class runs {@code readlink}, {@code chmod} or {@code ls} to
 *       create, rename or look at a file, 10 to 20 ms each: most of the time of a commit.
 *   <li>Data is on the disk when the stream is closed, and a new name when the rename returns.
 *       Spark resumes from an existing file and trusts its content.
 *   <li>A rename is one step, even one that must not replace a file.
 * </ul>
 *
 * <p>Links are followed, as the operating system does; only operations on the link itself, and
 * those that delete or replace one, affect the link. A new file's permissions are Hadoop's umask
 * and the process's umask combined; they are passed when the file is created, and ignored by file
 * systems without permissions.
 */
class RawLocalFiles extends RawLocalFileSystem {
  /** Other systems use the base class. */
  private static final boolean POSIX =
      FileSystems.getDefault().supportedFileAttributeViews().contains("unix");

  private static final String STATUS =
      "unix:size,isDirectory,isSymbolicLink,mode,lastModifiedTime,lastAccessTime";

  java.nio.file.Path file(Path path) {
    return pathToFile(path).toPath();
  }

  @Override
  protected OutputStream createOutputStreamWithMode(
      Path path, boolean append, FsPermission permission) throws IOException {
    java.nio.file.Path file = file(path);
    FsPermission wanted = permission == null ? FsPermission.getFileDefault() : permission;
    try {
      Files.createFile(file, mode(wanted));
    } catch (java.nio.file.FileAlreadyExistsException e) {
      // The permissions stay, too.
    } catch (FileSystemException e) {
      throw translated(e);
    }
    return new SyncedOutput(file, append);
  }

  @Override
  protected boolean mkOneDirWithMode(Path path, File folder, FsPermission permission)
      throws IOException {
    FsPermission wanted = permission == null ? FsPermission.getDirDefault() : permission;
    try {
      Files.createDirectory(folder.toPath(), mode(wanted));
    } catch (java.nio.file.FileAlreadyExistsException e) {
      return false;
    } catch (FileSystemException e) {
      throw translated(e);
    }
    SyncedOutput.syncFolderOf(folder.toPath());
    return true;
  }

  @Override
  public boolean rename(Path source, Path target) throws IOException {
    boolean renamed = super.rename(source, target);
    if (renamed) {
      syncRenamed(file(source), file(target));
    }
    return renamed;
  }

  /**
   * Replaces an existing file only if asked to. Otherwise, on file systems with hard links, one of
   * several concurrent renames to a name succeeds.
   */
  @Override
  @SuppressWarnings("deprecation") // Deprecated for direct use; FileContext is the intended caller.
  protected void rename(Path source, Path target, Rename... options) throws IOException {
    java.nio.file.Path from = file(source);
    java.nio.file.Path to = file(target);
    try {
      if (from.equals(to)) {
        throw new java.nio.file.FileAlreadyExistsException(to.toString());
      }
      if (Arrays.asList(options).contains(Rename.OVERWRITE)) {
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
      } else {
        moveToNew(from, to);
      }
    } catch (AtomicMoveNotSupportedException e) {
      // Another disk: a copy.
      if (!super.rename(source, target)) {
        throw e;
      }
    } catch (FileSystemException e) {
      throw translated(e);
    }
    syncRenamed(from, to);
  }

  private static void moveToNew(java.nio.file.Path from, java.nio.file.Path to) throws IOException {
    if (!Files.isDirectory(from, NOFOLLOW_LINKS) && linked(from, to)) {
      Files.delete(from);
      return;
    }
    if (Files.exists(to, NOFOLLOW_LINKS)) {
      throw new java.nio.file.FileAlreadyExistsException(to.toString());
    }
    Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
  }

  /**
   * Adds a second name (hard link), since a rename would replace an existing file; false if the
   * file system has no hard links.
   */
  private static boolean linked(java.nio.file.Path file, java.nio.file.Path name)
      throws IOException {
    try {
      Files.createLink(name, file);
      return true;
    } catch (java.nio.file.FileAlreadyExistsException | NoSuchFileException e) {
      throw e;
    } catch (UnsupportedOperationException | FileSystemException e) {
      return false;
    }
  }

  private static void syncRenamed(java.nio.file.Path from, java.nio.file.Path to)
      throws IOException {
    SyncedOutput.syncFolderOf(to);
    if (!to.getParent().equals(from.getParent())) {
      SyncedOutput.syncFolderOf(from);
    }
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    java.nio.file.Path file = file(path);
    // To the base class a dangling link does not exist, and a link to a folder is that folder.
    return Files.isSymbolicLink(file) ? Files.deleteIfExists(file) : super.delete(path, recursive);
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    FileStatus status = getFileStatus(path);
    return status.isDirectory() ? super.listStatus(path) : new FileStatus[] {status};
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    return POSIX ? status(path) : super.getFileStatus(path);
  }

  @Override
  public FileStatus getFileLinkStatus(Path path) throws IOException {
    if (!POSIX) {
      return super.getFileLinkStatus(path);
    }
    FileStatus status = status(path, NOFOLLOW_LINKS);
    if (status.isSymlink()) {
      status.setSymlink(
          FSLinkResolver.qualifySymlinkTarget(getUri(), status.getPath(), status.getSymlink()));
    }
    return status;
  }

  @Override
  public Path getLinkTarget(Path path) throws IOException {
    try {
      return new Path(Files.readSymbolicLink(file(path)).toString());
    } catch (FileSystemException e) {
      throw translated(e);
    }
  }

  private FileStatus status(Path path, LinkOption... links) throws IOException {
    java.nio.file.Path file = file(path);
    try {
      var attributes = Files.readAttributes(file, STATUS, links);
      boolean isLink = (boolean) attributes.get("isSymbolicLink");
      Path target = isLink ? new Path(Files.readSymbolicLink(file).toString()) : null;
      // Always made from the bare path: Spark compares names as strings, file:///x is not file:/x.
      Path name = makeQualified(new Path(file.toString()));
      return new LocalStatus(attributes, getDefaultBlockSize(path), target, name, file);
    } catch (FileSystemException e) {
      throw translated(e);
    }
  }

  @Override
  public void createSymlink(Path target, Path link, boolean createParent) throws IOException {
    if (!POSIX || !FileSystem.areSymlinksEnabled()) {
      super.createSymlink(target, link, createParent);
      return;
    }
    String scheme = target.toUri().getScheme();
    if (scheme != null && !scheme.equals(getUri().getScheme())) {
      throw new IOException("a symbolic link cannot point to another file system: " + target);
    }
    if (createParent) {
      mkdirs(link.getParent());
    }
    java.nio.file.Path name = file(link);
    try {
      Files.createSymbolicLink(name, java.nio.file.Path.of(target.toUri().getPath()));
    } catch (FileSystemException e) {
      throw translated(e);
    }
    SyncedOutput.syncFolderOf(name);
  }

  @Override
  public void setPermission(Path path, FsPermission permission) throws IOException {
    if (!POSIX) {
      super.setPermission(path, permission);
      return;
    }
    try {
      Files.setAttribute(file(path), "unix:mode", (int) permission.toShort());
    } catch (FileSystemException e) {
      throw translated(e);
    }
  }

  @Override
  public void setOwner(Path path, String user, String group) throws IOException {
    if (!POSIX) {
      super.setOwner(path, user, group);
      return;
    }
    var view = Files.getFileAttributeView(file(path), PosixFileAttributeView.class);
    UserPrincipalLookupService names = FileSystems.getDefault().getUserPrincipalLookupService();
    try {
      if (user != null) {
        view.setOwner(names.lookupPrincipalByName(user));
      }
      if (group != null) {
        view.setGroup(names.lookupPrincipalByGroupName(group));
      }
    } catch (FileSystemException e) {
      throw translated(e);
    }
  }

  private FileAttribute<?>[] mode(FsPermission wanted) {
    if (!POSIX) {
      return new FileAttribute<?>[0];
    }
    FsPermission given = wanted.applyUMask(FsPermission.getUMask(getConf()));
    // Without the sticky bit, which java.nio does not know.
    String symbols =
        new FsPermission(given.getUserAction(), given.getGroupAction(), given.getOtherAction())
            .toString();
    return new FileAttribute<?>[] {
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(symbols))
    };
  }

  /** The failure as Hadoop's callers expect it. */
  private static IOException translated(FileSystemException failure) {
    IOException thrown;
    if (failure instanceof NoSuchFileException) {
      thrown = new FileNotFoundException("File " + failure.getFile() + " does not exist");
    } else if (failure instanceof java.nio.file.FileAlreadyExistsException) {
      thrown = new FileAlreadyExistsException("File already exists: " + failure.getFile());
    } else if (failure instanceof AccessDeniedException) {
      thrown = new AccessControlException("Permission denied: " + failure.getFile());
    } else {
      return failure;
    }
    thrown.initCause(failure);
    return thrown;
  }
}
