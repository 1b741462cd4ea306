package io.streamsql.serving;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

@Timeout(30)
class TableStoreTest {
  private static final long FOR_EVER = -1;
  private static final UTF8String TOPIC = UTF8String.fromString("topic");

  @TempDir private Path folder;

  @Test
  void aStoreThatIsOpenedAgainHasWhatItHadAndTakesMore() throws Exception {
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      store.reset("topic", 1_000);
      store.apply(List.of(record("a", 1, 10, "one")), Map.of(0, 11L));
      store.reopen(1_000);
      assertFalse(store.stuck());
      assertTrue(store.isOf("topic"));
      assertEquals(Map.of(0, 11L), store.positions());
      store.apply(List.of(record("b", 2, 11, "two")), Map.of(0, 12L));
      assertEquals("one", value(store, "a"));
      assertEquals("two", value(store, "b"));
    }
  }

  @Test
  void theLatestRecordOfAKeyIsThere() throws Exception {
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      store.apply(List.of(record("a", 1, 10, "old"), record("a", 2, 11, "new")), Map.of(0, 12L));
      assertEquals("new", value(store, "a"));
      assertNull(value(store, "b"));
    }
  }

  @Test
  void aRecordWithoutAValueDeletesAndOneWithoutAKeyIsNone() throws Exception {
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      store.apply(List.of(record("a", 1, 0, "x"), record(null, 2, 1, "y")), Map.of());
      store.apply(List.of(record("a", 3, 2, null)), Map.of());
      assertNull(value(store, "a"));
      assertEquals(List.of(), keys(store));
    }
  }

  @Test
  void aRowIsThatOfSparksKafkaSource() throws Exception {
    RecordHeaders headers = new RecordHeaders();
    headers.add(new RecordHeader("name", bytes("value"))).add(new RecordHeader("none", null));
    ConsumerRecord<byte[], byte[]> record =
        new ConsumerRecord<>(
            "topic",
            3,
            Long.MAX_VALUE,
            1_500,
            TimestampType.CREATE_TIME,
            1,
            0,
            bytes("k"),
            new byte[0],
            headers,
            Optional.empty());
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      store.apply(List.of(record), Map.of());
      try (TableStore.Reading reading = store.read()) {
        InternalRow row = StoredRow.row(TOPIC, bytes("k"), reading.get(bytes("k")));
        assertArrayEquals(bytes("k"), row.getBinary(0));
        assertArrayEquals(new byte[0], row.getBinary(1));
        assertEquals(TOPIC, row.getUTF8String(2));
        assertEquals(3, row.getInt(3));
        assertEquals(Long.MAX_VALUE, row.getLong(4));
        assertEquals(1_500_000, row.getLong(5));
        assertEquals("name", row.getArray(7).getStruct(0, 2).getString(0));
        assertArrayEquals(bytes("value"), row.getArray(7).getStruct(0, 2).getBinary(1));
        assertTrue(row.getArray(7).getStruct(1, 2).isNullAt(1));
      }
    }
  }

  @Test
  void rowsAndPositionsOutliveTheStore() throws Exception {
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      store.reset("cluster/topic/1", 0);
      store.apply(List.of(record("a", 1, 0, "x")), Map.of(0, 7L, 12, Long.MAX_VALUE));
    }
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      assertTrue(store.isOf("cluster/topic/1"));
      assertFalse(store.isOf("cluster/topic/2"));
      assertEquals(Map.of(0, 7L, 12, Long.MAX_VALUE), store.positions());
      assertEquals("x", value(store, "a"));
    }
  }

  @Test
  void aStoreOfAnotherTopicStartsOver() throws Exception {
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      store.apply(List.of(record("a", 1, 0, "x")), Map.of(0, 1L));
      store.reset("another", 0);
      assertEquals(Map.of(), store.positions());
      assertNull(value(store, "a"));
      assertTrue(store.isOf("another"));
    }
  }

  @Test
  void aStoreThatIsBeingReadDoesNotStartOver() throws Exception {
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      store.apply(List.of(record("a", 1, 0, "x")), Map.of(0, 1L));
      try (TableStore.Reading reading = store.read()) {
        assertThrows(TimeoutException.class, () -> store.reset("another", 10));
        assertEquals("x", text(reading.get(bytes("a"))));
        assertEquals("x", value(store, "a"), "others can read it, too");
      }
      store.reset("another", 10);
      assertNull(value(store, "a"));
    }
  }

  @Test
  void aStoreThatCannotBeOpenedStartsOver() throws Exception {
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      store.apply(List.of(record("a", 1, 0, "x")), Map.of(0, 1L));
    }
    Files.writeString(folder.resolve("CURRENT"), "nonsense");
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      assertEquals(Map.of(), store.positions());
      assertNull(value(store, "a"));
    }
  }

  @Test
  void aStoreOfALaterVersionIsNotRead() throws Exception {
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      store.reset("topic", 0);
    }
    List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (ColumnFamilyOptions ofFamily = new ColumnFamilyOptions();
        DBOptions ofDatabase = new DBOptions()) {
      List<ColumnFamilyDescriptor> families =
          List.of(
              new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, ofFamily),
              new ColumnFamilyDescriptor(bytes("meta"), ofFamily));
      try (RocksDB db = RocksDB.open(ofDatabase, folder.toString(), families, handles)) {
        assertEquals(
            "1 topic",
            new String(db.get(handles.get(1), bytes("identity")), StandardCharsets.UTF_8));
        db.put(handles.get(1), bytes("identity"), bytes("2 topic"));
        handles.forEach(ColumnFamilyHandle::close);
      }
    }
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      assertFalse(store.isOf("topic"), "it begins anew, as one of another topic does");
    }
  }

  @Test
  void rowsExpireByTheTimeOfTheNewestOne() throws Exception {
    try (TableStore store = new TableStore(folder, 100, 0)) {
      store.apply(List.of(record("old", 1_000, 0, "x"), record("edge", 1_050, 1, "y")), Map.of());
      assertEquals("x", value(store, "old"));
      store.apply(List.of(record("new", 1_150, 2, "z")), Map.of());
      assertNull(value(store, "old"));
      assertEquals("y", value(store, "edge"));
      assertEquals(List.of("edge", "new", "old"), keys(store));
      store.removeExpired();
      assertEquals(List.of("edge", "new"), keys(store));
    }
    try (TableStore store = new TableStore(folder, 100, 0)) {
      store.apply(List.of(record("late", 1_049, 3, "x")), Map.of());
      assertNull(value(store, "late"), "the time of the newest row is kept, too");
    }
  }

  @Test
  void aReadSeesTheStoreOfItsBeginning() throws Exception {
    try (TableStore store = new TableStore(folder, FOR_EVER, 0)) {
      store.apply(List.of(record("a", 1, 0, "x")), Map.of());
      try (TableStore.Reading reading = store.read()) {
        RocksIterator rows = reading.iterator();
        store.apply(List.of(record("a", 2, 1, null), record("b", 2, 2, "y")), Map.of());
        rows.seekToFirst();
        assertArrayEquals(bytes("a"), rows.key());
        rows.next();
        assertFalse(rows.isValid());
        reading.check(rows);
      }
    }
  }

  @Test
  void aClosedStoreSaysSoAndStaysClosed() throws Exception {
    TableStore store = new TableStore(folder, 100, 0);
    store.close();
    store.close();
    List<Callable<?>> uses =
        List.of(
            store::read,
            store::positions,
            store::estimatedRows,
            () -> store.isOf("topic"),
            () -> {
              store.apply(List.of(), Map.of());
              return null;
            },
            () -> {
              store.removeExpired();
              return null;
            },
            () -> {
              store.reset("topic", 0);
              return null;
            });
    for (Callable<?> use : uses) {
      assertClosed(assertThrows(IllegalStateException.class, use::call));
    }
    new TableStore(folder, FOR_EVER, 0).close(); // nothing has taken RocksDB's lock again
  }

  @Test
  void whoUsesAStoreLongestShutsIt() throws Exception {
    TableStore store = new TableStore(folder, FOR_EVER, 0);
    store.apply(List.of(record("a", 1, 0, "x")), Map.of());
    TableStore.Reading reading = store.read();
    Thread.currentThread().interrupt(); // close() does not wait then
    store.close();
    assertTrue(Thread.interrupted());
    assertEquals("x", text(reading.get(bytes("a"))));
    assertThrows(RocksDBException.class, () -> opened(folder), "it is still open");
    assertClosed(assertThrows(IllegalStateException.class, store::read));
    reading.close();
    assertEquals(1, opened(folder));
  }

  @RepeatedTest(5)
  void threadsThatWriteAndTidyWhileItIsClosedHearOfIt() throws Exception {
    TableStore store = new TableStore(folder, 1_000, 0);
    int threads = 4;
    CountDownLatch working = new CountDownLatch(2 * threads);
    ExecutorService pool = Executors.newFixedThreadPool(2 * threads);
    List<Future<?>> ends = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      String key = "key " + i;
      ends.add(
          pool.submit(
              () -> {
                for (long n = 0; ; n++) {
                  store.apply(List.of(record(key + n % 100, n, n, "x")), Map.of(0, n));
                  working.countDown();
                }
              }));
      ends.add(
          pool.submit(
              () -> {
                while (true) {
                  store.removeExpired();
                  working.countDown();
                }
              }));
    }
    working.await();
    store.close();
    pool.shutdown();
    assertTrue(pool.awaitTermination(10, TimeUnit.SECONDS));
    for (Future<?> end : ends) {
      assertClosed(assertThrows(ExecutionException.class, end::get).getCause());
    }
  }

  private static void assertClosed(Throwable problem) {
    assertEquals(IllegalStateException.class, problem.getClass());
    assertEquals("the store is closed", problem.getMessage());
  }

  /** How many rows a store has that must not be recreated if it cannot be opened. */
  private static int opened(Path folder) throws Exception {
    try (Options options = new Options();
        DBOptions ofDatabase = new DBOptions();
        ColumnFamilyOptions ofFamily = new ColumnFamilyOptions()) {
      List<ColumnFamilyDescriptor> families = new ArrayList<>();
      for (byte[] name : RocksDB.listColumnFamilies(options, folder.toString())) {
        families.add(new ColumnFamilyDescriptor(name, ofFamily));
      }
      List<ColumnFamilyHandle> handles = new ArrayList<>();
      try (RocksDB db = RocksDB.open(ofDatabase, folder.toString(), families, handles)) {
        int count = 0;
        try (RocksIterator rows = db.newIterator(handles.get(0))) {
          for (rows.seekToFirst(); rows.isValid(); rows.next()) {
            count++;
          }
        }
        handles.forEach(ColumnFamilyHandle::close);
        return count;
      }
    }
  }

  private static ConsumerRecord<byte[], byte[]> record(
      String key, long timestamp, long offset, String value) {
    return new ConsumerRecord<>(
        "topic",
        0,
        offset,
        timestamp,
        TimestampType.CREATE_TIME,
        0,
        0,
        key == null ? null : bytes(key),
        value == null ? null : bytes(value),
        new RecordHeaders(),
        Optional.empty());
  }

  private static String value(TableStore store, String key) throws RocksDBException {
    try (TableStore.Reading reading = store.read()) {
      return text(reading.get(bytes(key)));
    }
  }

  private static String text(byte[] row) {
    return row == null
        ? null
        : new String(StoredRow.row(TOPIC, null, row).getBinary(1), StandardCharsets.UTF_8);
  }

  private static List<String> keys(TableStore store) {
    List<String> found = new ArrayList<>();
    try (TableStore.Reading reading = store.read()) {
      RocksIterator rows = reading.iterator();
      for (rows.seekToFirst(); rows.isValid(); rows.next()) {
        found.add(new String(rows.key(), StandardCharsets.UTF_8));
      }
    }
    return found;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
