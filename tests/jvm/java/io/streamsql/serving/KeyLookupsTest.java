package io.streamsql.serving;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class KeyLookupsTest {
  private static final UTF8String TOPIC = UTF8String.fromString("topic");

  @TempDir private Path folder;
  private TableStore store;
  private boolean complete = true;

  @BeforeEach
  void open() throws Exception {
    store = new TableStore(folder, -1, 0);
  }

  @AfterEach
  void close() {
    store.close();
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** A key, then the numbers of its window. */
  static byte[] key(String name, long... window) {
    ByteBuffer key = ByteBuffer.allocate(name.length() + 8 * window.length).put(bytes(name));
    for (long number : window) {
      key.putLong(number);
    }
    return key.array();
  }

  static void put(TableStore store, byte[] key, String value) throws Exception {
    store.apply(List.of(new ConsumerRecord<>("topic", 0, 1, key, bytes(value))), Map.of());
  }

  /** Lookups whose results are the rows' values, as a query's program would make them. */
  static KeyLookups lookups(TableStore store, boolean complete, int suffix) {
    return new KeyLookups(store::read, () -> complete, TOPIC, KeyLookupsTest::values, suffix);
  }

  private static Iterator<InternalRow> values(Iterator<InternalRow> rows) {
    List<InternalRow> found = new ArrayList<>();
    rows.forEachRemaining(
        row -> found.add(new GenericInternalRow(new Object[] {row.getBinary(1)})));
    return found.iterator();
  }

  static byte[] asked(long low, long high, String... keys) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(packed);
    out.writeLong(low);
    out.writeLong(high);
    for (String key : keys) {
      out.writeInt(key.length());
      out.write(bytes(key));
    }
    return packed.toByteArray();
  }

  static List<String> results(byte[] packed) {
    List<String> found = new ArrayList<>();
    int epoch = Long.BYTES;
    for (ByteBuffer in = ByteBuffer.wrap(packed).position(epoch); in.hasRemaining(); ) {
      byte[] result = new byte[in.getInt()];
      in.get(result);
      found.add(new String(result, StandardCharsets.UTF_8));
    }
    return found;
  }

  private List<String> found(int suffix, long low, long high, String... keys) throws Exception {
    return results(lookups(store, complete, suffix).get(asked(low, high, keys)));
  }

  @Test
  void keysAreFoundInTheOrderInWhichTheyAreAskedFor() throws Exception {
    put(store, bytes("a"), "1");
    put(store, bytes("b"), "2");
    put(store, bytes("ab"), "3");
    assertEquals(List.of("2", "1", "2"), found(0, 0, 0, "b", "none", "a", "b"));
    assertEquals(List.of(), found(0, 0, 0));
  }

  @Test
  void aKeyHasTheWindowsThatBeginWithinTheBounds() throws Exception {
    for (long start : new long[] {0, 10, 20, 30}) {
      put(store, key("a", start), "a" + start);
      put(store, key("ab", start), "ab" + start);
    }
    assertEquals(List.of("a10", "a20"), found(8, 10, 20, "a"));
    assertEquals(List.of("ab0", "a0"), found(8, 0, 9, "ab", "a"));
    assertEquals(List.of("a30"), found(8, 21, Long.MAX_VALUE, "a"));
    assertEquals(List.of(), found(8, 31, 40, "a"));
  }

  /** The end comes first, and is what the bounds are of. */
  @Test
  void soHasAKeyOfSessions() throws Exception {
    put(store, key("a", 20, 10), "10-20");
    put(store, key("a", 40, 30), "30-40");
    put(store, key("a", 40, 35), "35-40");
    put(store, key("aa", 40, 30), "another key");
    assertEquals(List.of("30-40", "35-40"), found(16, 21, 40, "a"));
    assertEquals(List.of("10-20"), found(16, 0, 39, "a"));
  }

  /** Two keys of which one begins with the other, and its bytes look like a window's. */
  @Test
  void aLongerKeyIsNoWindow() throws Exception {
    put(store, key("a", 5), "window");
    put(store, key("a", 5, 7), "key of nine bytes with a window");
    assertEquals(List.of("window"), found(8, 0, 10, "a"));
  }

  @Test
  void aTableThatIsStillBeingReadHasNoAnswers() {
    complete = false;
    assertEquals(
        "the table is still being read",
        assertThrows(IllegalStateException.class, () -> found(0, 0, 0, "a")).getMessage());
  }

  @Test
  void aRowIsWhole() throws Exception {
    put(store, bytes("a"), "1");
    KeyLookups whole =
        new KeyLookups(
            store::read,
            () -> true,
            TOPIC,
            rows -> {
              InternalRow row = rows.next();
              assertArrayEquals(bytes("a"), row.getBinary(0));
              assertEquals(TOPIC, row.getUTF8String(2));
              InternalRow copy = new GenericInternalRow(new Object[] {row.getBinary(1)});
              return List.of(copy, copy).iterator();
            },
            0);
    assertEquals(List.of("1", "1"), results(whole.get(asked(0, 0, "a"))));
  }
}
