package io.streamsql.lookups;

import io.streamsql.sinks.StagedNames;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** The files of a lookup table: the one that it names, or those of a folder. */
final class RowFiles {
  /** The attributes by which a changed file is detected. */
  record Stamp(String path, long length, long modified) {}

  /** Reads the rows of one file. */
  interface Format {
    /**
     * Passes on the rows, one after the other.
     *
     * @throws IOException that names the position at which the file does not fit the declaration
     */
    void read(FileSystem system, Path path, Consumer<InternalRow> rows) throws IOException;
  }

  private final Path place;
  private final Configuration conf;
  private final Format format;

  RowFiles(LookupTable table, Configuration conf) {
    this.place = new Path(table.place());
    this.conf = conf;
    StructType schema = table.schema();
    this.format =
        switch (table.format()) {
          case "CSV" -> new CsvRows(schema);
          case "JSON" -> new JsonRows(schema);
          case "PARQUET" -> new ParquetRows(schema, conf);
          default -> throw new IllegalArgumentException("no format of files: " + table.format());
        };
  }

  /** The current files, ordered by name. */
  List<Stamp> stamps() throws IOException {
    FileSystem system = system();
    FileStatus found = system.getFileStatus(place);
    FileStatus[] files = found.isFile() ? new FileStatus[] {found} : system.listStatus(place);
    return Arrays.stream(files)
        .filter(file -> file.isFile() && (found.isFile() || !isHidden(file.getPath().getName())))
        .map(f -> new Stamp(f.getPath().toString(), f.getLen(), f.getModificationTime()))
        .sorted((a, b) -> a.path().compareTo(b.path()))
        .toList();
  }

  /** Hidden files, as in Spark and Hive; {@code CREATE SINK} names a file when it is complete. */
  private static boolean isHidden(String name) {
    return name.startsWith("_") || name.startsWith(".") || name.endsWith(StagedNames.SUFFIX);
  }

  void read(List<Stamp> stamps, Consumer<InternalRow> rows) throws IOException {
    for (Stamp stamp : stamps) {
      try {
        format.read(system(), new Path(stamp.path()), rows);
      } catch (RuntimeException e) {
        throw new IOException(stamp.path() + ": " + e.getMessage(), e);
      }
    }
  }

  private FileSystem system() throws IOException {
    return place.getFileSystem(conf);
  }
}
