package io.streamsql.iceberg.tables;

import io.streamsql.iceberg.IcebergTarget;
import io.streamsql.iceberg.Lake;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.io.WriteResult;
import org.apache.iceberg.util.SerializationUtil;
import org.apache.iceberg.util.StructLikeMap;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Writes the rows of a task to files. Rows that replace others are collected first, since a
 * snapshot's deletions do not concern its own rows: of a key's changes the last is written, and
 * what is too much for the memory becomes several snapshots.
 */
final class LakeWriter implements AutoCloseable {
  private static final int MOST_KEYS = 50_000;

  /** A change of a key's row; the record has only the key if it is deleted. */
  private record Change(GenericRecord record, boolean deletes) {}

  private final IcebergTarget target;
  private final Lake.Start start;
  private final Lake.Refusals refusals;
  private final RowReader reader;
  private final LakeFiles files;
  private final List<String> keys;
  private final Schema keySchema;
  private final int mostKeys;
  private final int columns;
  private final StructLikeMap<Change> changes;
  private final Map<Integer, Long> next = new TreeMap<>();
  private final List<Lake.Part> parts = new ArrayList<>();

  LakeWriter(IcebergTarget target, Lake.Start start, Lake.Refusals refusals) {
    this(target, start, refusals, MOST_KEYS);
  }

  LakeWriter(IcebergTarget target, Lake.Start start, Lake.Refusals refusals, int mostKeys) {
    this.target = target;
    this.start = start;
    this.refusals = refusals;
    this.mostKeys = mostKeys;
    Table table = SerializationUtil.deserializeFromBase64(start.table());
    TableColumns known = new TableColumns(target, table);
    Schema rows = known.rows();
    this.columns = rows.columns().size();
    this.reader = new RowReader(rows, table.schema());
    this.keys = known.keys();
    this.keySchema = table.schema().select(keys);
    this.files = new LakeFiles(table, keySchema);
    this.changes = StructLikeMap.create(keySchema.asStruct());
  }

  /** Adds a row. Rows of a partition come in the order of their offsets. */
  void add(InternalRow row) {
    int partition = row.getInt(columns + 1);
    long offset = row.getLong(columns + 2);
    if (start.isWritten(partition, offset)) {
      return;
    }
    // The rows of one record are not separated: its offset stands for all of them.
    if (changes.size() >= mostKeys && next.getOrDefault(partition, -1L) != offset + 1) {
      flush();
    }
    boolean deletes = target.upserts() && row.getBoolean(columns);
    try {
      GenericRecord record = deletes ? reader.key(row, keys) : reader.record(row);
      if (target.upserts()) {
        changes.put(files.key(record), new Change(record, deletes));
      } else {
        files.write(record);
      }
    } catch (RowReader.Refused e) {
      refusals.refuse(partition, offset, e.getMessage());
    }
    next.put(partition, offset + 1);
  }

  List<Lake.Part> finish() {
    flush();
    files.keep();
    return parts;
  }

  private void flush() {
    for (Map.Entry<StructLike, Change> entry : changes.entrySet()) {
      Change change = entry.getValue();
      if (!start.empty() || !parts.isEmpty()) {
        files.delete(change.record);
      }
      if (!change.deletes) {
        files.write(change.record);
      }
    }
    changes.clear();
    if (!next.isEmpty()) {
      WriteResult written = files.complete();
      parts.add(new Lake.Part(SerializationUtil.serializeToBase64(written), new TreeMap<>(next)));
      next.clear();
    }
  }

  /** Discards the files of a task that has failed. */
  @Override
  public void close() {
    files.close();
  }
}
