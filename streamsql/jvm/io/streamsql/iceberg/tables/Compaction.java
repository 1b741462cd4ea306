package io.streamsql.iceberg.tables;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SnapshotAncestryValidator;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.parquet.InternalReader;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.WriteResult;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.util.PartitionUtil;
import org.apache.iceberg.util.StructLikeMap;

/**
 * Merges small files of rows, which each commit adds, now and then and not too many at once: the
 * sink waits meanwhile. Files that deletions concern stay as they are.
 */
final class Compaction {
  private static final int SNAPSHOTS = 50;
  private static final int FEWEST_FILES = 10;
  private static final long SMALL = 32L << 20;
  private static final long MOST = 128L << 20;

  private final Table table;
  private final int fewestFiles;

  Compaction(Table table) {
    this(table, FEWEST_FILES);
  }

  /**
   * @param fewestFiles of a partition that are merged
   */
  Compaction(Table table, int fewestFiles) {
    this.table = table;
    this.fewestFiles = fewestFiles;
  }

  /** Not with files of others whose columns have no ids: they are not read by name here. */
  boolean isDue() {
    return table.currentSnapshot().sequenceNumber() % SNAPSHOTS == 0
        && !table.properties().containsKey(TableProperties.DEFAULT_NAME_MAPPING);
  }

  /**
   * @param summary entries for the new snapshot
   * @param expected of the snapshots that it follows
   */
  void run(Map<String, String> summary, SnapshotAncestryValidator expected) throws IOException {
    List<FileScanTask> small = small();
    if (small.isEmpty()) {
      return;
    }
    RewriteFiles rewrite =
        table.newRewrite().validateFromSnapshot(table.currentSnapshot().snapshotId());
    small.forEach(file -> rewrite.deleteFile(file.file()));
    for (DataFile merged : merged(small).dataFiles()) {
      rewrite.addFile(merged);
    }
    summary.forEach(rewrite::set);
    rewrite.validateWith(expected);
    rewrite.commit();
  }

  private WriteResult merged(List<FileScanTask> small) {
    try (LakeFiles files = new LakeFiles(table, table.schema().select(List.of()))) {
      for (FileScanTask file : small) {
        copy(file, files);
      }
      WriteResult made = files.complete();
      files.keep(); // even if the commit fails: whether it has failed may be unknown
      return made;
    }
  }

  /** Of each partition with many small files, these. */
  private List<FileScanTask> small() throws IOException {
    StructLikeMap<List<FileScanTask>> found = StructLikeMap.create(table.spec().partitionType());
    try (CloseableIterable<FileScanTask> files = table.newScan().planFiles()) {
      for (FileScanTask file : files) {
        boolean current = file.spec().specId() == table.spec().specId();
        if (current && file.deletes().isEmpty() && file.file().fileSizeInBytes() < SMALL) {
          found.computeIfAbsent(file.partition(), key -> new ArrayList<>()).add(file);
        }
      }
    }
    List<FileScanTask> small = new ArrayList<>();
    long bytes = 0;
    for (List<FileScanTask> files : found.values()) {
      for (FileScanTask file : files.size() < fewestFiles ? List.<FileScanTask>of() : files) {
        bytes += file.file().fileSizeInBytes();
        if (bytes <= MOST) {
          small.add(file);
        }
      }
    }
    return small;
  }

  private void copy(FileScanTask file, LakeFiles files) {
    Schema schema = table.schema();
    try (CloseableIterable<GenericRecord> rows =
        Parquet.read(table.io().newInputFile(file.file().location()))
            .project(schema)
            .createReaderFunc(
                type -> InternalReader.create(schema, type, PartitionUtil.constantsMap(file)))
            .build()) {
      rows.forEach(files::write);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
