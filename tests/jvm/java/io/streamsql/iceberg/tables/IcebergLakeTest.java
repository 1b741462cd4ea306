package io.streamsql.iceberg.tables;

import static java.util.Locale.ROOT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.files.CheckedLocalFiles;
import io.streamsql.files.LocalFiles;
import io.streamsql.iceberg.IcebergTarget;
import io.streamsql.iceberg.Lake;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotAncestryValidator;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.parquet.InternalReader;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What readers of a table see after batches, wherever one has ended. */
@Timeout(60)
class IcebergLakeTest {
  private static final String ID = "{\"id\":1,\"name\":\"id\",\"required\":%s,\"type\":\"int\"}";
  private static final String NAME =
      "{\"id\":2,\"name\":\"name\",\"required\":false,\"type\":\"string\"}";
  private static final String OFFSETS = "streamsql.offsets.O";
  private static final TableIdentifier TABLE = TableIdentifier.of("shop", "t");

  @TempDir private Path folder;
  private final Configuration conf = new Configuration(false);
  private final IcebergLakes lakes = new IcebergLakes();
  private final List<String> refused = new ArrayList<>();

  @BeforeEach
  void start() {
    conf.set("fs.AbstractFileSystem.file.impl", LocalFiles.class.getName());
    conf.set("fs.file.impl", CheckedLocalFiles.class.getName());
  }

  private static String schema(String... fields) {
    return "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[" + String.join(",", fields) + "]}";
  }

  private IcebergTarget target(String schema, List<String> keys, String... partitionBy) {
    List<String> columns = new ArrayList<>();
    SchemaParser.fromJson(schema).columns().forEach(c -> columns.add(c.name().toUpperCase(ROOT)));
    return target(schema, columns, List.of(), List.of(), keys, 0, partitionBy);
  }

  private IcebergTarget target(
      String schema,
      List<String> columns,
      List<String> dropped,
      List<String> kept,
      List<String> keys,
      long retention,
      String... partitionBy) {
    return new IcebergTarget(
        "O",
        "t",
        "HADOOP",
        Map.of("warehouse", "file:" + folder),
        "shop.t",
        schema,
        columns,
        dropped,
        kept,
        keys,
        List.of(partitionBy),
        retention,
        List.of());
  }

  private IcebergTarget appending(String... partitionBy) {
    return target(schema(ID.formatted(false), NAME), List.of(), partitionBy);
  }

  private IcebergTarget upserting(String... partitionBy) {
    String keyed =
        "{\"type\":\"struct\",\"schema-id\":0,\"identifier-field-ids\":[1],\"fields\":["
            + ID.formatted(true)
            + ","
            + NAME
            + "]}";
    return target(keyed, List.of("id"), partitionBy);
  }

  /** A row of a record; a null name deletes where rows are upserted. */
  private static InternalRow row(int partition, long offset, Integer id, String name) {
    Object text = name == null ? null : UTF8String.fromString(name);
    return new GenericInternalRow(new Object[] {id, text, name == null, partition, offset});
  }

  private static List<InternalRow> numbered(int from, int to) {
    List<InternalRow> rows = new ArrayList<>();
    for (int n = from; n < to; n++) {
      rows.add(row(n % 2, n / 2, n, "v" + n));
    }
    return rows;
  }

  private Lake open(IcebergTarget target) throws Exception {
    Lake lake = lakes.open(target, conf);
    assertNull(lake.prepare());
    return lake;
  }

  private List<Lake.Part> write(IcebergTarget target, Lake.Start start, List<InternalRow> rows) {
    return lakes.write(
        target, start, rows.iterator(), (p, offset, why) -> refused.add(offset + ": " + why));
  }

  private void batch(IcebergTarget target, String topicId, List<InternalRow> rows)
      throws Exception {
    try (Lake lake = open(target)) {
      Lake.Start start = lake.start(topicId);
      lake.commit(start, List.of(write(target, start, rows)));
    }
  }

  private void batch(IcebergTarget target, InternalRow... rows) throws Exception {
    batch(target, "id", List.of(rows));
  }

  // -- a reader ----------------------------------------------------------------------------------

  private Table table() {
    return new HadoopCatalog(conf, "file:" + folder).loadTable(TABLE);
  }

  private String offsets() {
    return table().currentSnapshot().summary().get(OFFSETS);
  }

  /** The rows of the current snapshot, as text, sorted. */
  private List<String> rows() throws IOException {
    Table table = table();
    List<String> found = new ArrayList<>();
    try (CloseableIterable<FileScanTask> files = table.newScan().planFiles()) {
      for (FileScanTask file : files) {
        for (StructLike row : records(table, file.file().location(), table.schema())) {
          if (!isDeleted(table, file, row)) {
            found.add(text(row));
          }
        }
      }
    }
    return found.stream().sorted().toList();
  }

  private static boolean isDeleted(Table table, FileScanTask file, StructLike row)
      throws IOException {
    Schema key = new Schema(table.schema().findField(1));
    for (DeleteFile deletes : file.deletes()) {
      for (StructLike deleted : records(table, deletes.location(), key)) {
        if (deleted.get(0, Object.class).equals(row.get(0, Object.class))) {
          return true;
        }
      }
    }
    return false;
  }

  private static List<StructLike> records(Table table, String location, Schema schema)
      throws IOException {
    List<StructLike> found = new ArrayList<>();
    try (CloseableIterable<StructLike> rows =
        Parquet.read(table.io().newInputFile(location))
            .project(schema)
            .createReaderFunc(type -> InternalReader.create(schema, type))
            .build()) {
      rows.forEach(found::add);
    }
    return found;
  }

  private static String text(StructLike row) {
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < row.size(); i++) {
      Object value = row.get(i, Object.class);
      if (value instanceof StructLike struct) {
        value = text(struct);
      } else if (value instanceof ByteBuffer bytes) {
        value = StandardCharsets.UTF_8.decode(bytes.duplicate());
      }
      values.add(value);
    }
    return values.toString();
  }

  // -- exactly once ------------------------------------------------------------------------------

  @Test
  void aRepeatedBatchWritesWhatTheTableLacks() throws Exception {
    batch(appending(), "id", numbered(0, 4));
    assertEquals(List.of("[0, v0]", "[1, v1]", "[2, v2]", "[3, v3]"), rows());
    assertEquals("{\"topic\":\"t\",\"id\":\"id\",\"offsets\":{\"0\":2,\"1\":2}}", offsets());
    long snapshot = table().currentSnapshot().snapshotId();
    batch(appending(), "id", numbered(0, 4));
    assertEquals(snapshot, table().currentSnapshot().snapshotId());
    // A batch with other ends, as another checkpoint has them.
    batch(appending(), "id", numbered(1, 6));
    assertEquals(6, rows().size());
    assertEquals("{\"topic\":\"t\",\"id\":\"id\",\"offsets\":{\"0\":3,\"1\":3}}", offsets());
    assertEquals(offsets(), table().properties().get(OFFSETS));
  }

  @Test
  void aCommitWhoseAnswerIsLostIsNotRepeated() throws Exception {
    IcebergTarget target = appending();
    try (Lake lake = open(target)) {
      Lake.Start start = lake.start("id");
      List<List<Lake.Part>> parts = List.of(write(target, start, numbered(0, 3)));
      lake.commit(start, parts);
      lake.commit(start, parts);
    }
    assertEquals(3, rows().size());
  }

  @Test
  void ofTwoProcessesWithTheSameBatchOneCommits() throws Exception {
    IcebergTarget target = appending();
    try (Lake one = open(target);
        Lake other = open(target)) {
      Lake.Start start = one.start("id");
      List<List<Lake.Part>> first = List.of(write(target, start, numbered(0, 3)));
      List<List<Lake.Part>> second = List.of(write(target, start, numbered(0, 5)));
      one.commit(start, first);
      assertThrows(IllegalStateException.class, () -> other.commit(start, second));
    }
    assertEquals(3, rows().size());
    batch(target, "id", numbered(0, 5));
    assertEquals(5, rows().size());
  }

  @Test
  void anotherWriterBetweenStartAndCommitDoesNoHarm() throws Exception {
    IcebergTarget target = appending();
    batch(target, "id", numbered(0, 2));
    try (Lake lake = open(target)) {
      Lake.Start start = lake.start("id");
      List<List<Lake.Part>> parts = List.of(write(target, start, numbered(0, 4)));
      table().newAppend().commit();
      lake.commit(start, parts);
    }
    assertEquals(4, rows().size());
  }

  @Test
  void theOffsetsOutliveTheSnapshotsOfTheSink() throws Exception {
    batch(appending(), "id", numbered(0, 4));
    Table table = table();
    table.newAppend().commit();
    assertNull(table.currentSnapshot().summary().get(OFFSETS));
    batch(appending(), "id", numbered(0, 5));
    assertEquals(5, rows().size());
    table.refresh();
    table.newAppend().commit();
    table.expireSnapshots().expireOlderThan(Long.MAX_VALUE).retainLast(1).commit();
    batch(appending(), "id", numbered(0, 6));
    assertEquals(6, rows().size());
  }

  @Test
  void theRecordsOfANewTopicAreAllNew() throws Exception {
    batch(appending(), "old", numbered(0, 4));
    batch(appending(), "new", numbered(0, 2));
    assertEquals(6, rows().size());
    assertEquals("{\"topic\":\"t\",\"id\":\"new\",\"offsets\":{\"0\":1,\"1\":1}}", offsets());
  }

  @Test
  void aFailedTaskLeavesNoFiles() throws Exception {
    IcebergTarget target = appending();
    try (Lake lake = open(target)) {
      Lake.Start start = lake.start("id");
      List<InternalRow> rows = new ArrayList<>(numbered(0, 2));
      rows.add(new GenericInternalRow(new Object[] {"no number", null, true, 0, 9L}));
      assertThrows(ClassCastException.class, () -> write(target, start, rows));
    }
    Path data = folder.resolve("shop/t/data");
    String[] files = data.toFile().list((where, name) -> name.endsWith(".parquet"));
    assertEquals(0, files == null ? 0 : files.length);
  }

  // -- rows --------------------------------------------------------------------------------------

  @Test
  void rowsReplaceAndDeleteThoseOfTheirKey() throws Exception {
    batch(upserting(), row(0, 0, 1, "one"), row(0, 1, 2, "two"), row(0, 2, 1, "uno"));
    assertEquals(List.of("[1, uno]", "[2, two]"), rows());
    batch(upserting(), row(0, 3, 2, null), row(0, 4, 3, "three"), row(0, 5, 3, null));
    assertEquals(List.of("[1, uno]"), rows());
    batch(upserting(), row(0, 6, 2, "again"), row(0, 7, 1, null), row(0, 8, 1, "eins"));
    assertEquals(List.of("[1, eins]", "[2, again]"), rows());
  }

  @Test
  void manyKeysBecomeSeveralSnapshotsOfOneCommit() throws Exception {
    IcebergTarget target = upserting("bucket 4 id");
    try (Lake lake = open(target)) {
      Lake.Start start = lake.start("id");
      List<Lake.Part> parts;
      try (LakeWriter writer = new LakeWriter(target, start, (p, o, why) -> {}, 2)) {
        writer.add(row(0, 0, 1, "one"));
        writer.add(row(0, 1, 2, "two"));
        writer.add(row(0, 1, 3, "of the same record"));
        writer.add(row(0, 2, 1, "uno"));
        writer.add(row(0, 3, 2, null));
        parts = writer.finish();
      }
      assertEquals(
          List.of(Map.of(0, 2L), Map.of(0, 4L)), parts.stream().map(p -> p.next()).toList());
      lake.commit(start, List.of(parts, List.of()));
    }
    assertEquals(List.of("[1, uno]", "[3, of the same record]"), rows());
    Set<String> reached = new HashSet<>();
    for (Snapshot snapshot : table().snapshots()) {
      reached.add(snapshot.summary().get(OFFSETS));
    }
    String text = "{\"topic\":\"t\",\"id\":\"id\",\"offsets\":{\"0\":%d}}";
    assertEquals(Set.of(text.formatted(2), text.formatted(4)), reached);
  }

  @Test
  void aRowWithoutItsKeyIsRefused() throws Exception {
    batch(upserting(), row(0, 0, 1, "one"), row(0, 1, null, "none"), row(0, 2, 2, "two"));
    assertEquals(List.of("[1, one]", "[2, two]"), rows());
    assertEquals(List.of("1: the column id must not be null"), refused);
    batch(upserting(), row(0, 1, null, "none"));
    assertEquals(1, refused.size());
  }

  @Test
  void everyTypeIsWritten() throws Exception {
    String[] types = {
      "\"boolean\"",
      "\"long\"",
      "\"double\"",
      "\"decimal(8, 2)\"",
      "\"binary\"",
      "\"date\"",
      "\"time\"",
      "\"timestamptz\"",
      "{\"type\":\"list\",\"element-id\":20,\"element\":\"string\",\"element-required\":false}",
      "{\"type\":\"map\",\"key-id\":21,\"key\":\"string\",\"value-id\":22,\"value\":\"int\","
          + "\"value-required\":false}",
      "{\"type\":\"struct\",\"fields\":[{\"id\":23,\"name\":\"at\",\"required\":false,"
          + "\"type\":\"time\"}]}"
    };
    String[] fields = new String[types.length];
    for (int i = 0; i < types.length; i++) {
      fields[i] =
          "{\"id\":%d,\"name\":\"c%d\",\"required\":false,\"type\":%s}"
              .formatted(i + 1, i, types[i]);
    }
    Map<Object, Object> counts = new HashMap<>();
    counts.put(UTF8String.fromString("a"), 1);
    Object[] values = {
      true,
      1L << 40,
      0.5,
      Decimal.apply(new BigDecimal("123456.78"), 8, 2),
      new byte[] {'a', 'b'},
      -1,
      45_000_000L,
      1_700_000_000_123_456L,
      new GenericArrayData(new Object[] {UTF8String.fromString("x"), null}),
      ArrayBasedMapData.apply(
          counts.keySet().toArray(), new Object[] {counts.values().iterator().next()}),
      new GenericInternalRow(new Object[] {1000L}),
      false,
      0,
      0L
    };
    Object[] nulls = new Object[values.length];
    System.arraycopy(values, 11, nulls, 11, 3);
    nulls[13] = 1L;
    IcebergTarget target = target(schema(fields), List.of());
    batch(target, new GenericInternalRow(values), new GenericInternalRow(nulls));
    Object[] expected = {
      true,
      1L << 40,
      0.5,
      new BigDecimal("123456.78"),
      "ab",
      -1,
      45_000_000_000L,
      1_700_000_000_123_456L,
      Arrays.asList("x", null),
      Map.of("a", 1),
      "[1000000]"
    };
    String none = Arrays.toString(new Object[11]);
    assertEquals(List.of(none, Arrays.toString(expected)), rows());
  }

  // -- the table ---------------------------------------------------------------------------------

  @Test
  void rowsAreInTheirPartitions() throws Exception {
    batch(appending("truncate 10 id", "identity 0 name"), row(0, 0, 7, "a"), row(0, 1, 12, "b"));
    Set<String> partitions = new HashSet<>();
    try (CloseableIterable<FileScanTask> files = table().newScan().planFiles()) {
      files.forEach(file -> partitions.add(text(file.partition())));
    }
    assertEquals(Set.of("[0, a]", "[10, b]"), partitions);
    assertEquals(List.of("[12, b]", "[7, a]"), rows());
  }

  @Test
  void missingColumnsAreAddedAndTypesWidened() throws Exception {
    batch(target(schema(ID.formatted(false)), List.of()), new GenericInternalRow(values(1, 0)));
    String wide = ID.formatted(false).replace("int", "long");
    IcebergTarget wider = target(schema(NAME, wide), List.of());
    Object[] values = {UTF8String.fromString("two"), 1L << 40, false, 0, 1L};
    batch(wider, new GenericInternalRow(values));
    assertEquals(List.of("[1, null]", "[1099511627776, two]"), rows());
    // The table keeps what the source no longer has.
    batch(target(schema(ID.formatted(false)), List.of()), new GenericInternalRow(values(3, 2)));
    assertEquals(3, rows().size());
  }

  @Test
  void missingFieldsOfAStructAreAdded() throws Exception {
    String place = "{\"id\":1,\"name\":\"place\",\"required\":false,\"type\":%s}";
    String city = "{\"id\":2,\"name\":\"city\",\"required\":false,\"type\":\"string\"}";
    String zip = "{\"id\":3,\"name\":\"zip\",\"required\":false,\"type\":\"int\"}";
    String struct = "{\"type\":\"struct\",\"fields\":[%s]}";
    InternalRow york = new GenericInternalRow(new Object[] {UTF8String.fromString("York")});
    IcebergTarget small = target(schema(place.formatted(struct.formatted(city))), List.of());
    batch(small, new GenericInternalRow(new Object[] {york, false, 0, 0L}));
    String both = struct.formatted(zip + "," + city);
    InternalRow bath = new GenericInternalRow(new Object[] {7, UTF8String.fromString("Bath")});
    IcebergTarget large = target(schema(place.formatted(both)), List.of());
    batch(large, new GenericInternalRow(new Object[] {bath, false, 0, 1L}));
    assertEquals(List.of("[[Bath, 7]]", "[[York, null]]"), rows());
  }

  private static Object[] values(int id, long offset) {
    return new Object[] {id, false, 0, offset};
  }

  @Test
  void aTableThatCannotHoldTheRowsIsNotWritten() throws Exception {
    HadoopCatalog catalog = new HadoopCatalog(conf, "file:" + folder);
    catalog.createNamespace(Namespace.of("shop"));
    Schema other =
        new Schema(
            Types.NestedField.optional(1, "id", Types.StringType.get()),
            Types.NestedField.optional(2, "name", Types.StringType.get()));
    catalog.createTable(TABLE, other);
    assertProblem("id", appending());
    assertTrue(catalog.dropTable(TABLE));
    batch(appending("bucket 4 id"), "id", numbered(0, 1));
    assertProblem(
        "is partitioned by bucket[4](id), and not by identity(name)", appending("identity 0 name"));
    assertNull(problem(appending()));
    assertTrue(catalog.dropTable(TABLE));
    batch(appending("identity 0 name"), "id", numbered(0, 1));
    assertProblem("partitioned by name, which is not in the key", upserting());
  }

  private String problem(IcebergTarget target) throws Exception {
    try (Lake lake = lakes.open(target, conf)) {
      return lake.prepare();
    }
  }

  private void assertProblem(String words, IcebergTarget target) throws Exception {
    String problem = problem(target);
    assertNotNull(problem);
    assertTrue(problem.contains(words), problem);
  }

  // -- its columns -------------------------------------------------------------------------------

  private static final String TOWN =
      "{\"id\":3,\"name\":\"%s\",\"required\":false,\"type\":\"string\"}";

  /** The columns ID and, with that name in the table, another of the source. */
  private IcebergTarget writing(String column, String name, String dropped, String kept) {
    return target(
        schema(ID.formatted(false), TOWN.formatted(name)),
        List.of("ID", column),
        dropped.isEmpty() ? List.of() : List.of(dropped),
        kept.isEmpty() ? List.of() : List.of(kept),
        List.of(),
        0);
  }

  private List<String> columns() {
    return table().schema().columns().stream().map(c -> c.fieldId() + " " + c.name()).toList();
  }

  @Test
  void aColumnKeepsItsIdWhereTheSinkRenamesIt() throws Exception {
    IcebergTarget town = writing("TOWN", "town", "", "");
    batch(town, row(0, 0, 1, "York"));
    assertEquals(List.of("1 id", "2 town"), columns());
    IcebergTarget city = writing("TOWN", "city", "", "");
    batch(city, row(0, 1, 2, "Bath"));
    assertEquals(List.of("1 id", "2 city"), columns());
    assertEquals(List.of("[1, York]", "[2, Bath]"), rows());
    String before = metadata();
    assertNull(problem(city));
    assertEquals(before, metadata());
  }

  private String metadata() {
    return ((HasTableOperations) table()).operations().current().metadataFileLocation();
  }

  @Test
  void aColumnThatAnotherEngineRenamesIsFollowed() throws Exception {
    IcebergTarget target = target(upserting().schema(), List.of("id"), "bucket 2 id");
    batch(target, row(0, 0, 1, "one"), row(0, 1, 2, "two"));
    try (Lake lake = open(target)) {
      table().updateSchema().renameColumn("name", "n").renameColumn("id", "key").commit();
      Lake.Start start = lake.start("id");
      List<InternalRow> rows = List.of(row(0, 2, 1, "uno"), row(0, 3, 2, null));
      lake.commit(start, List.of(write(target, start, rows)));
    }
    batch(target, row(0, 4, 3, "three"));
    assertEquals(List.of("1 key", "2 n"), columns());
    assertEquals(List.of("[1, uno]", "[3, three]"), rows());
  }

  @Test
  void aColumnIsDroppedIfTheSinkHasWrittenIt() throws Exception {
    batch(appending(), row(0, 0, 1, "one"));
    table().updateSchema().addColumn("other", Types.StringType.get()).commit();
    String id = schema(ID.formatted(false));
    List<String> dropped = List.of("name", "other", "none");
    IcebergTarget less = target(id, List.of("ID"), dropped, List.of(), List.of(), 0);
    batch(less, new GenericInternalRow(values(2, 1)));
    assertEquals(List.of("1 id", "3 other"), columns());
    assertEquals(List.of("[1, null]", "[2, null]"), rows());
    assertNull(problem(less));
    // Another writer's column of the name stays.
    table().updateSchema().addColumn("name", Types.StringType.get()).commit();
    assertNull(problem(less));
    assertEquals(List.of("1 id", "3 other", "4 name"), columns());
    List<String> key = List.of("id");
    assertTrue(new HadoopCatalog(conf, "file:" + folder).dropTable(TABLE));
    batch(appending("identity 0 name"), row(0, 0, 1, "one"));
    assertProblem("is partitioned by name: DROP_COLUMNS cannot drop it", less);
    assertTrue(new HadoopCatalog(conf, "file:" + folder).dropTable(TABLE));
    batch(upserting(), row(0, 0, 1, "one"));
    String name = schema(NAME);
    assertProblem(
        "Cannot delete identifier field",
        target(name, List.of("NAME"), key, List.of(), List.of(), 0));
  }

  @Test
  void whetherAColumnWasRenamedInTheSourceHasToBeSaid() throws Exception {
    batch(writing("TOWN", "town", "", ""), row(0, 0, 1, "York"));
    assertProblem(
        "the sink no longer writes town, and adds CITY. If CITY is town under another name,"
            + " COLUMNS='*, CITY AS town' continues",
        writing("CITY", "city", "", ""));
    assertEquals(List.of("1 id", "2 town"), columns());
    batch(writing("CITY", "town", "", ""), row(0, 1, 2, "Bath"));
    batch(writing("CITY", "city", "", ""), row(0, 2, 3, "Ely"));
    assertEquals(List.of("1 id", "2 city"), columns());
    assertEquals(List.of("[1, York]", "[2, Bath]", "[3, Ely]"), rows());
    batch(writing("PLACE", "place", "", "city"), row(0, 3, 4, "Rye"));
    batch(writing("AREA", "area", "place", ""), row(0, 4, 5, "Kent"));
    assertEquals(List.of("1 id", "2 city", "4 area"), columns());
    // What went before and alone is no column that was renamed.
    String id = schema(ID.formatted(false));
    batch(target(id, List.of()), new GenericInternalRow(values(6, 5)));
    batch(writing("PLACE", "place", "", ""), row(0, 6, 7, "Lyme"));
    assertEquals(List.of("1 id", "2 city", "4 area", "5 place"), columns());
  }

  @Test
  void aNameThatTheTableHasIsNoNewName() throws Exception {
    batch(writing("TOWN", "town", "", ""), row(0, 0, 1, "York"));
    table().updateSchema().addColumn("city", Types.StringType.get()).commit();
    assertProblem("town cannot be renamed to city", writing("TOWN", "city", "", ""));
    table().updateSchema().renameColumn("town", "place").commit();
    List<String> both = List.of("TOWN", "PLACE");
    String two = schema(TOWN.formatted("town"), TOWN.formatted("place").replace("3", "4"));
    List<String> none = List.of();
    assertProblem(
        "TOWN and PLACE both are its column place", target(two, both, none, none, none, 0));
  }

  @Test
  void columnsOfAnotherVersionAreNotRead() throws Exception {
    batch(appending(), row(0, 0, 1, "one"));
    table().updateProperties().set("streamsql.columns.O", "{\"version\": 2}").commit();
    assertProblem("was written by another version of streamsql", appending());
    // A table of a version without them: columns are known by their names.
    table().updateProperties().remove("streamsql.columns.O").commit();
    assertProblem("the sink no longer writes name", writing("TOWN", "town", "", ""));
    batch(writing("TOWN", "name", "", ""), row(0, 1, 2, "two"));
    assertEquals(List.of("[1, one]", "[2, two]"), rows());
  }

  @Test
  void outdatedSnapshotsAreRemovedWhereTheSinkMayDoSo() throws Exception {
    IcebergTarget target = appending();
    List<String> none = List.of();
    IcebergTarget brief = target(target.schema(), target.columns(), none, none, none, 1);
    for (int n = 0; n < 5; n++) {
      batch(target, "id", numbered(0, n + 1));
    }
    assertEquals(5, count(table().snapshots()));
    for (int n = 5; n < 10; n++) {
      batch(brief, "id", numbered(0, n + 1));
    }
    assertTrue(count(table().snapshots()) < 3);
    assertEquals(10, rows().size());
  }

  @Test
  void everyFiftiethSnapshotMergesSmallFiles() throws Exception {
    IcebergTarget target = appending("bucket 2 id");
    for (int n = 0; n < 49; n++) {
      batch(target, "id", numbered(0, n + 1));
    }
    assertEquals(49, files());
    batch(target, "id", numbered(0, 50));
    assertEquals(2, files());
    assertEquals("replace", table().currentSnapshot().operation());
    assertEquals("{\"topic\":\"t\",\"id\":\"id\",\"offsets\":{\"0\":25,\"1\":25}}", offsets());
    batch(target, "id", numbered(0, 51));
    assertEquals(51, rows().size());
    assertEquals(51, new HashSet<>(rows()).size());
    Table table = table();
    batch(target, "id", numbered(0, 60));
    // A snapshot of another process would be hidden by the offsets of this one.
    SnapshotAncestryValidator none = ancestors -> false;
    assertThrows(ValidationException.class, () -> new Compaction(table(), 2).run(Map.of(), none));
    table.refresh();
    assertEquals(60, rows().size());
  }

  @Test
  void filesWithDeletionsAreNotMerged() throws Exception {
    for (int n = 0; n < 12; n++) {
      batch(upserting(), row(0, n, n / 2, "v" + n));
    }
    List<String> before = rows();
    new Compaction(table(), 2).run(Map.of(OFFSETS, offsets()), ancestors -> true);
    assertEquals(before, rows());
    assertEquals(6, before.size());
  }

  private int files() throws IOException {
    try (CloseableIterable<FileScanTask> files = table().newScan().planFiles()) {
      return count(files);
    }
  }

  private static int count(Iterable<?> all) {
    int count = 0;
    for (Object ignored : all) {
      count++;
    }
    return count;
  }
}
