package io.streamsql.sinks;

import io.streamsql.sinks.Decision.Move;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;

/**
 * The files of one query without final names: below the root, so in the same file system, in a
 * folder for each attempt at a batch. Only files of completed batches are deleted: another engine
 * may be ahead.
 */
final class StagedFiles {
  private static final String FOLDER = "_streamsql-";
  private static final int ID_LENGTH = 12;

  private final Configuration conf;
  private final FileSystem files;
  private final Path root;
  private final Path folder;
  private final String writer;

  /**
   * The staged files of a query.
   *
   * @param checkpoint the unique id of its checkpoint
   */
  StagedFiles(String root, String checkpoint, Configuration conf) throws IOException {
    this.conf = conf;
    this.files = new Path(root).getFileSystem(conf);
    this.root = files.makeQualified(new Path(root));
    this.writer = checkpoint.replace("-", "").substring(0, ID_LENGTH);
    this.folder = new Path(this.root, FOLDER + writer);
  }

  /** A new folder for an attempt at a batch. */
  Path attempt(long batch) {
    return new Path(folder, batch + "-" + UUID.randomUUID());
  }

  /** Deletes a failed attempt. */
  void giveUp(Path attempt) throws IOException {
    files.delete(attempt, true);
  }

  /** Deletes the leftovers of attempts, once a batch is done. */
  void discardUpTo(long batch) throws IOException {
    if (!files.exists(folder)) {
      return;
    }
    for (FileStatus attempt : files.listStatus(folder)) {
      String name = attempt.getPath().getName();
      if (Long.parseLong(name.substring(0, name.indexOf('-'))) <= batch) {
        files.delete(attempt.getPath(), true);
      }
    }
    if (files.listStatus(folder).length == 0) {
      files.delete(folder, false);
    }
  }

  /** The final names of an attempt's files; empty files are left out. */
  Decision decision(Path attempt, long batch, String format) throws IOException {
    List<Move> moves = new ArrayList<>();
    if (files.exists(attempt)) {
      String above = attempt.toUri().getPath() + Path.SEPARATOR;
      RemoteIterator<LocatedFileStatus> found = files.listFiles(attempt, true);
      while (found.hasNext()) {
        LocatedFileStatus file = found.next();
        if (isStaged(file.getPath().getName()) && hasRows(file, format)) {
          String relative = file.getPath().toUri().getPath().substring(above.length());
          moves.add(new Move(file.getPath().toString(), target(relative, batch).toString()));
        }
      }
    }
    return new Decision(moves);
  }

  /** Renames the files; those already renamed are skipped. */
  static void carryOut(Decision decision, Configuration conf) throws IOException {
    for (Move move : decision.moves()) {
      Path from = new Path(move.from());
      Path to = new Path(move.to());
      FileSystem files = from.getFileSystem(conf);
      if (!files.exists(from)) {
        continue; // renamed by an earlier attempt
      }
      files.mkdirs(to.getParent());
      if (!files.rename(from, to) && files.exists(from)) {
        throw new IOException("cannot rename " + from + " to " + to);
      }
    }
  }

  /**
   * {@code a=1/part-0000000007-00003-c000-1b2c3d4e5f60.snappy.parquet}: unique over batches, tasks
   * and queries.
   */
  private Path target(String relative, long batch) {
    int slash = relative.lastIndexOf(Path.SEPARATOR_CHAR);
    String name = relative.substring(slash + 1);
    int number = StagedNames.PREFIX.length();
    int rest = name.indexOf('.');
    String task = name.substring(number, rest);
    String ending = name.substring(rest, name.length() - StagedNames.SUFFIX.length());
    String called =
        String.format("%s%010d-%s-%s%s", StagedNames.PREFIX, batch, task, writer, ending);
    return new Path(root, relative.substring(0, slash + 1) + called);
  }

  private static boolean isStaged(String name) {
    return name.startsWith(StagedNames.PREFIX) && name.endsWith(StagedNames.SUFFIX);
  }

  /** Spark's first task writes a file in any case. */
  private boolean hasRows(FileStatus file, String format) throws IOException {
    if (!file.getPath().getName().startsWith(StagedNames.PREFIX + "00000")) {
      return true;
    }
    return switch (format) {
      case "PARQUET" -> parquetRows(file) > 0;
      case "CSV" -> lines(file.getPath()) > 1;
      default -> file.getLen() > 0;
    };
  }

  private long parquetRows(FileStatus file) throws IOException {
    try (ParquetFileReader reader =
        ParquetFileReader.open(HadoopInputFile.fromStatus(file, conf))) {
      return reader.getRecordCount();
    }
  }

  /** 0, 1, or 2 for more. */
  private int lines(Path file) throws IOException {
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(files.open(file), StandardCharsets.UTF_8))) {
      int count = 0;
      while (count < 2 && reader.readLine() != null) {
        count++;
      }
      return count;
    }
  }
}
