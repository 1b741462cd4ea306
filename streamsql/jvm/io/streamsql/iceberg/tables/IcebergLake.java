package io.streamsql.iceberg.tables;

import io.streamsql.iceberg.IcebergTarget;
import io.streamsql.iceberg.Lake;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotAncestryValidator;
import org.apache.iceberg.SnapshotUpdate;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.SupportsNamespaces;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.io.WriteResult;
import org.apache.iceberg.util.SerializationUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The sink's table in its catalog. */
final class IcebergLake implements Lake {
  private static final Logger LOG = LoggerFactory.getLogger(IcebergLake.class);

  /** Set on tables that the sink maintains: those that it has created. */
  private static final String RETENTION = "streamsql.snapshot-retention-ms";

  private static final long DEFAULT_RETENTION_MS = 6 * 3600 * 1000L;

  /** A snapshot every few seconds adds up: metadata lists all that are kept. */
  private static final Map<String, String> PROPERTIES =
      Map.of(
          TableProperties.FORMAT_VERSION,
          "2",
          TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED,
          "true",
          TableProperties.METADATA_PREVIOUS_VERSIONS_MAX,
          "20");

  private final IcebergTarget target;
  private final Catalog catalog;
  private final TableIdentifier identifier;

  IcebergLake(IcebergTarget target, Catalog catalog) {
    this.target = target;
    this.catalog = catalog;
    this.identifier = TableIdentifier.parse(target.table());
  }

  @Override
  public void close() {
    if (catalog instanceof Closeable closeable) {
      try {
        closeable.close();
      } catch (IOException e) {
        LOG.warn("closing the catalog of {}", target.place(), e);
      }
    }
  }

  // -- the table ---------------------------------------------------------------------------------

  @Override
  public String prepare() {
    try {
      return prepared();
    } catch (IllegalArgumentException | IllegalStateException | ValidationException e) {
      return "the table " + target.table() + " cannot hold the rows: " + e.getMessage();
    }
  }

  private String prepared() {
    Schema wanted = SchemaParser.fromJson(target.schema());
    Table table = catalog.tableExists(identifier) ? catalog.loadTable(identifier) : create(wanted);
    TableColumns columns = new TableColumns(target, table);
    String problem = problem(table, columns);
    if (problem != null) {
      return problem;
    }
    columns.evolve(table, new TableOffsets(target, "").exist(table));
    if (target.retentionMs() > 0 && target.retentionMs() != retention(table)) {
      table.updateProperties().set(RETENTION, Long.toString(target.retentionMs())).commit();
    }
    return null;
  }

  private Table create(Schema wanted) {
    Namespace namespace = identifier.namespace();
    if (catalog instanceof SupportsNamespaces namespaces
        && !namespaces.namespaceExists(namespace)) {
      try {
        namespaces.createNamespace(namespace);
      } catch (AlreadyExistsException e) {
        LOG.debug("another process has created the namespace {}", namespace);
      }
    }
    long retention = target.retentionMs() > 0 ? target.retentionMs() : DEFAULT_RETENTION_MS;
    try {
      return catalog
          .buildTable(identifier, wanted)
          .withPartitionSpec(Partitioning.of(target.partitionBy(), wanted, name -> name))
          .withProperties(PROPERTIES)
          .withProperty(RETENTION, Long.toString(retention))
          .create();
    } catch (AlreadyExistsException e) {
      return catalog.loadTable(identifier);
    }
  }

  private String problem(Table table, TableColumns columns) {
    PartitionSpec spec = table.spec();
    for (String dropped : target.dropped()) {
      if (Partitioning.columns(spec).contains(dropped)) {
        return "the table %s is partitioned by %s: DROP_COLUMNS cannot drop it"
            .formatted(target.table(), dropped);
      }
    }
    if (!target.partitionBy().isEmpty()) {
      PartitionSpec wanted =
          Partitioning.of(target.partitionBy(), table.schema(), columns::present);
      if (!Partitioning.same(wanted, spec)) {
        return "the table %s is partitioned by %s, and not by %s"
            .formatted(target.table(), Partitioning.text(spec), Partitioning.text(wanted));
      }
    }
    if (!target.upserts()) {
      return null;
    }
    int version = ((HasTableOperations) table).operations().current().formatVersion();
    if (version != 2) {
      return "the table %s has the format version %d: MODE='UPSERT' needs version 2"
          .formatted(target.table(), version);
    }
    Set<String> others = new HashSet<>(Partitioning.columns(spec));
    others.removeAll(columns.keys());
    return others.isEmpty()
        ? null
        : "the table %s is partitioned by %s, which is not in the key: MODE='UPSERT' cannot find"
                .formatted(target.table(), String.join(", ", others))
            + " the row that it replaces";
  }

  // -- batches -----------------------------------------------------------------------------------

  @Override
  public Start start(String topicId) {
    Table table = catalog.loadTable(identifier);
    String sent = SerializationUtil.serializeToBase64(SerializableTable.copyOf(table));
    Map<Integer, Long> next = new TableOffsets(target, topicId).stored(table);
    return new Start(sent, table.currentSnapshot() == null, topicId, next);
  }

  @Override
  public void commit(Start start, List<List<Part>> tasks) {
    Map<Integer, Long> end = new TreeMap<>(start.next());
    tasks.forEach(parts -> parts.forEach(part -> advance(end, part)));
    Table table = catalog.loadTable(identifier);
    TableOffsets offsets = new TableOffsets(target, start.topicId());
    Map<Integer, Long> stored = offsets.stored(table);
    if (stored.equals(end)) {
      return; // nothing is new, or the attempt before has succeeded
    }
    if (!stored.equals(start.next())) {
      throw new IllegalStateException("another process writes the same rows");
    }
    Transaction transaction = table.newTransaction();
    Map<Integer, Long> next = new TreeMap<>(start.next());
    SnapshotAncestryValidator first =
        ancestors -> offsets.stored(ancestors, table).equals(start.next());
    int most = tasks.stream().mapToInt(List::size).max().orElse(0);
    for (int i = 0; i < most; i++) {
      List<WriteResult> files = new ArrayList<>();
      for (List<Part> parts : tasks) {
        if (i < parts.size()) {
          advance(next, parts.get(i));
          files.add(SerializationUtil.deserializeFromBase64(parts.get(i).files()));
        }
      }
      SnapshotUpdate<?> update = update(transaction, files);
      update.set(offsets.name(), offsets.text(next));
      if (i == 0) {
        update.validateWith(first);
      }
      update.commit();
    }
    transaction.updateProperties().set(offsets.name(), offsets.text(end)).commit();
    transaction.commitTransaction();
    maintain(table, offsets, end);
  }

  private static void advance(Map<Integer, Long> next, Part part) {
    part.next().forEach((partition, offset) -> next.merge(partition, offset, Math::max));
  }

  private static SnapshotUpdate<?> update(Transaction transaction, List<WriteResult> files) {
    if (files.stream().allMatch(found -> found.deleteFiles().length == 0)) {
      AppendFiles append = transaction.newAppend();
      files.forEach(found -> Arrays.stream(found.dataFiles()).forEach(append::appendFile));
      return append;
    }
    RowDelta delta = transaction.newRowDelta();
    for (WriteResult found : files) {
      Arrays.stream(found.dataFiles()).forEach(delta::addRows);
      Arrays.stream(found.deleteFiles()).forEach(delta::addDeletes);
    }
    return delta;
  }

  // -- small files and outdated snapshots --------------------------------------------------------

  /** Of a table that the sink has created. What fails is done later. */
  private void maintain(Table table, TableOffsets offsets, Map<Integer, Long> end) {
    try {
      table.refresh();
      long retention = retention(table);
      if (retention == 0) {
        return;
      }
      Compaction compaction = new Compaction(table);
      if (compaction.isDue()) {
        compaction.run(
            Map.of(offsets.name(), offsets.text(end)),
            ancestors -> offsets.stored(ancestors, table).equals(end));
      }
      // Not one snapshot at a time: each removal is a commit.
      long limit = System.currentTimeMillis() - retention;
      if (oldest(table) < limit - retention / 10) {
        table.expireSnapshots().expireOlderThan(limit).retainLast(1).commit();
      }
    } catch (IOException | RuntimeException e) {
      LOG.warn("small files and outdated snapshots of {} remain", target.table(), e);
    }
  }

  private static long retention(Table table) {
    return Long.parseLong(table.properties().getOrDefault(RETENTION, "0"));
  }

  private static long oldest(Table table) {
    long oldest = Long.MAX_VALUE;
    for (Snapshot snapshot : table.snapshots()) {
      oldest = Math.min(oldest, snapshot.timestampMillis());
    }
    return oldest;
  }
}
