package io.streamsql.iceberg.tables;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.parquet.InternalWriter;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.FileWriter;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.io.WriteResult;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.types.Types.NestedField;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Files of rows and of deletions by key, one of each for a partition of the table. */
final class LakeFiles implements AutoCloseable {
  /** Makes the writer of a partition's file. */
  private interface Opening<W> {
    W open(EncryptedOutputFile file, PartitionKey partition) throws IOException;
  }

  private static final Logger LOG = LoggerFactory.getLogger(LakeFiles.class);

  private final Table table;
  private final Schema keys;
  private final int[] places;
  private final PartitionKey partition;
  private final OutputFileFactory names;
  private final Map<PartitionKey, DataWriter<GenericRecord>> rows = new HashMap<>();
  private final Map<PartitionKey, EqualityDeleteWriter<GenericRecord>> deletions = new HashMap<>();

  /** All files that were begun, until they are complete. */
  private final List<String> begun = new ArrayList<>();

  LakeFiles(Table table, Schema keys) {
    this.table = table;
    this.keys = keys;
    this.places =
        keys.columns().stream()
            .mapToInt(key -> table.schema().columns().indexOf(table.schema().findField(key.name())))
            .toArray();
    this.partition = new PartitionKey(table.spec(), table.schema());
    this.names =
        OutputFileFactory.builderFor(table, 0, 0)
            .format(FileFormat.PARQUET)
            .operationId(UUID.randomUUID().toString())
            .build();
  }

  /** The key of a row. */
  GenericRecord key(StructLike record) {
    GenericRecord key = GenericRecord.create(keys);
    for (int i = 0; i < places.length; i++) {
      key.set(i, record.get(places[i], Object.class));
    }
    return key;
  }

  void write(GenericRecord record) {
    writer(rows, record, this::dataFile).write(record);
  }

  /** Deletes the rows of earlier snapshots that have the record's key. */
  void delete(GenericRecord record) {
    writer(deletions, record, this::deleteFile).write(key(record));
  }

  private <W> W writer(Map<PartitionKey, W> writers, StructLike record, Opening<W> opening) {
    partition.partition(record);
    W found = writers.get(partition);
    if (found == null) {
      PartitionKey own = partition.copy();
      EncryptedOutputFile file =
          table.spec().isUnpartitioned()
              ? names.newOutputFile()
              : names.newOutputFile(table.spec(), own);
      begun.add(file.encryptingOutputFile().location());
      try {
        found = opening.open(file, own);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      writers.put(own, found);
    }
    return found;
  }

  private DataWriter<GenericRecord> dataFile(EncryptedOutputFile file, PartitionKey own)
      throws IOException {
    return Parquet.writeData(file)
        .forTable(table)
        .withPartition(own)
        .createWriterFunc(InternalWriter::createWriter)
        .build();
  }

  private EqualityDeleteWriter<GenericRecord> deleteFile(EncryptedOutputFile file, PartitionKey own)
      throws IOException {
    return Parquet.writeDeletes(file)
        .forTable(table)
        .rowSchema(keys)
        .equalityFieldIds(keys.columns().stream().map(NestedField::fieldId).toList())
        .withPartition(own)
        .createWriterFunc(InternalWriter::createWriter)
        .buildEqualityWriter();
  }

  /** The files since the last call. */
  WriteResult complete() {
    closeAll();
    WriteResult.Builder made = WriteResult.builder();
    rows.values().forEach(writer -> made.addDataFiles(writer.toDataFile()));
    deletions.values().forEach(writer -> made.addDeleteFiles(writer.toDeleteFile()));
    rows.clear();
    deletions.clear();
    return made.build();
  }

  private void closeAll() {
    List<FileWriter<?, ?>> open = new ArrayList<>(rows.values());
    open.addAll(deletions.values());
    for (FileWriter<?, ?> writer : open) {
      try {
        writer.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** The task has its files; a failed one discards them, as far as possible. */
  void keep() {
    begun.clear();
  }

  @Override
  public void close() {
    if (begun.isEmpty()) {
      return;
    }
    try {
      closeAll();
    } catch (RuntimeException e) {
      LOG.debug("a discarded file cannot be closed", e);
    }
    for (String location : begun) {
      table.io().deleteFile(location);
    }
  }
}
