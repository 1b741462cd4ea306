package io.streamsql.iceberg.tables;

import io.streamsql.iceberg.LakePlan;
import io.streamsql.iceberg.LakeRows;
import io.streamsql.iceberg.LakeVersion;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.iceberg.CombinedScanTask;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.data.GenericDeleteFilter;
import org.apache.iceberg.data.IdentityPartitionConverters;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.formats.ReadBuilder;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.CloseableIterator;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.PartitionUtil;
import org.apache.iceberg.util.SerializationUtil;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/** Reads the rows of a snapshot, without those that are deleted. */
final class TableReader {
  /** What all tasks of a plan have in common. */
  private record Shared(Table table, Schema schema) implements Serializable {}

  private TableReader() {}

  // -- plan --------------------------------------------------------------------------------------

  static LakePlan plan(Table table, LakeVersion version, StructType columns, List<Filter> filters)
      throws IOException {
    Snapshot snapshot;
    Schema schema;
    try {
      snapshot = snapshot(table, version);
      schema = schema(table, snapshot);
      RowMaker.projection(columns, schema); // an exception, if it does not fit them
    } catch (IllegalArgumentException e) {
      return LakePlan.impossible(e.getMessage());
    }
    if (snapshot == null) {
      return new LakePlan("", -1, "", List.of());
    }
    TableScan scan = table.newScan().useSnapshot(snapshot.snapshotId());
    scan = scan.filter(Conditions.of(filters, schema, scan.schema()));
    List<String> tasks = new ArrayList<>();
    try (CloseableIterable<CombinedScanTask> found = scan.planTasks()) {
      for (CombinedScanTask task : found) {
        tasks.add(SerializationUtil.serializeToBase64(task));
      }
    }
    Shared shared = new Shared(SerializableTable.copyOf(table), schema);
    return new LakePlan(
        "", snapshot.snapshotId(), SerializationUtil.serializeToBase64(shared), tasks);
  }

  /** Null if the table has none yet. */
  private static Snapshot snapshot(Table table, LakeVersion version) {
    String name = version.name();
    if (version.millis() >= 0) {
      Long id = SnapshotUtil.nullableSnapshotIdAsOfTime(table, version.millis());
      if (id == null) {
        throw new IllegalArgumentException(
            "no snapshot is kept of %s: %s"
                .formatted(Instant.ofEpochMilli(version.millis()), kept(table)));
      }
      return table.snapshot(id);
    }
    if (name.isEmpty()) {
      return table.currentSnapshot();
    }
    SnapshotRef ref = table.refs().get(name);
    Snapshot found = ref == null ? numbered(table, name) : table.snapshot(ref.snapshotId());
    if (found == null) {
      throw new IllegalArgumentException(
          "there is no snapshot, branch or tag %s: %s".formatted(name, kept(table)));
    }
    return found;
  }

  private static Snapshot numbered(Table table, String name) {
    try {
      return table.snapshot(Long.parseLong(name));
    } catch (NumberFormatException e) {
      return null;
    }
  }

  private static String kept(Table table) {
    Snapshot oldest = null;
    Snapshot newest = table.currentSnapshot();
    for (Snapshot each : table.snapshots()) {
      oldest = oldest == null || each.timestampMillis() < oldest.timestampMillis() ? each : oldest;
    }
    return oldest == null || newest == null
        ? "the table has none"
        : "the oldest is %d of %s, the newest %d of %s"
            .formatted(
                oldest.snapshotId(),
                Instant.ofEpochMilli(oldest.timestampMillis()),
                newest.snapshotId(),
                Instant.ofEpochMilli(newest.timestampMillis()));
  }

  /** The present columns, and those that the table had then and has no longer. */
  private static Schema schema(Table table, Snapshot snapshot) {
    Schema present = table.schema();
    if (snapshot == null || snapshot.schemaId() == null) {
      return present;
    }
    List<NestedField> fields = new ArrayList<>(present.columns());
    Schema then = table.schemas().getOrDefault(snapshot.schemaId(), present);
    for (NestedField field : then.columns()) {
      if (present.findField(field.fieldId()) == null && present.findField(field.name()) == null) {
        fields.add(field);
      }
    }
    return new Schema(fields);
  }

  // -- rows --------------------------------------------------------------------------------------

  static LakeRows rows(String shared, String task, StructType columns) {
    CombinedScanTask found = SerializationUtil.deserializeFromBase64(task);
    return new Rows(
        SerializationUtil.deserializeFromBase64(shared), found.files().iterator(), columns);
  }

  /** The rows of one file after the other. */
  private static final class Rows implements LakeRows {
    private final Shared shared;
    private final Iterator<FileScanTask> files;
    private final StructType columns;
    private CloseableIterator<Record> records = CloseableIterator.empty();
    private RowMaker maker;

    Rows(Shared shared, Iterator<FileScanTask> files, StructType columns) {
      this.shared = shared;
      this.files = files;
      this.columns = columns;
    }

    @Override
    public boolean hasNext() {
      while (!records.hasNext() && files.hasNext()) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(getClass().getClassLoader());
        try {
          records.close();
          open(files.next());
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        } finally {
          thread.setContextClassLoader(before);
        }
      }
      return records.hasNext();
    }

    private void open(FileScanTask task) {
      Table table = shared.table;
      Schema wanted = RowMaker.projection(columns, shared.schema);
      GenericDeleteFilter deletes =
          new GenericDeleteFilter(table.io(), task, shared.schema, wanted);
      Schema read = deletes.requiredSchema();
      ReadBuilder<Record, Object> builder =
          FormatModelRegistry.readBuilder(
              task.file().format(), Record.class, table.io().newInputFile(task.file()));
      builder
          .project(read)
          .reuseContainers()
          .idToConstant(
              PartitionUtil.constantsMap(task, IdentityPartitionConverters::convertConstant))
          .split(task.start(), task.length())
          .filter(task.residual());
      String mapping = table.properties().get(TableProperties.DEFAULT_NAME_MAPPING);
      if (mapping != null) {
        builder.withNameMapping(NameMappingParser.fromJson(mapping));
      }
      maker = new RowMaker(columns, read);
      records = deletes.filter(builder.build()).iterator();
    }

    @Override
    public InternalRow next() {
      return maker.row(records.next());
    }

    @Override
    public void close() throws IOException {
      records.close();
    }
  }
}
