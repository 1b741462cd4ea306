package io.streamsql.lookups;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.databases.References;
import io.streamsql.databases.Retries;
import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.formats.RecordException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a database is asked: how often, what is known then, and what becomes of failures. */
@Timeout(60)
class JdbcRowsTest {
  private static final StructType SCHEMA =
      new StructType()
          .add("ID", DataTypes.LongType)
          .add("part No", DataTypes.StringType)
          .add("LABEL", DataTypes.StringType);
  private final Retries retries =
      new Retries(
          ErrorCode.LOOKUP_UNAVAILABLE,
          TimeUnit.MILLISECONDS.toNanos(1000),
          TimeUnit.MILLISECONDS.toNanos(50));

  private final AtomicLong clock = new AtomicLong();
  private final List<String> asked = new ArrayList<>();
  private final AtomicInteger opened = new AtomicInteger();
  private final AtomicInteger closed = new AtomicInteger();

  /** How many of the next questions fail. */
  private int failing;

  private int rows = 1;
  private final List<Object> key = List.of(7L, UTF8String.fromString("a"));

  private static LookupTable table(int rows) {
    return new LookupTable(
        "T", "JDBC", "jdbc:x", "", "s.t", "", "", 1000, rows, 0, SCHEMA, 2, List.of());
  }

  private JdbcRows source(int rows) {
    return new JdbcRows(table(rows), new Connections(this::open), retries, clock::get);
  }

  private Connection open() {
    opened.incrementAndGet();
    List<Object> given = new ArrayList<>();
    InvocationHandler answers =
        (self, method, arguments) ->
            switch (method.getName()) {
              case "prepareStatement" -> statement((String) arguments[0], given);
              case "close" -> closed.incrementAndGet();
              default -> null;
            };
    return proxy(Connection.class, answers);
  }

  private PreparedStatement statement(String sql, List<Object> given) {
    given.clear();
    return proxy(
        PreparedStatement.class,
        (self, method, arguments) -> {
          switch (method.getName()) {
            case "setObject" -> given.add(arguments[1]);
            case "executeQuery" -> {
              asked.add(sql + given);
              if (failing > 0) {
                failing--;
                throw new SQLException("the database is gone\nand more");
              }
              return results();
            }
            default -> {}
          }
          return null;
        });
  }

  private ResultSet results() {
    AtomicInteger left = new AtomicInteger(rows);
    return proxy(
        ResultSet.class,
        (self, method, arguments) ->
            switch (method.getName()) {
              case "next" -> left.getAndDecrement() > 0;
              case "getLong" -> 7L;
              case "getString" -> "text";
              case "wasNull" -> false;
              default -> null;
            });
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    Object made =
        Proxy.newProxyInstance(JdbcRowsTest.class.getClassLoader(), new Class<?>[] {type}, handler);
    return type.cast(made);
  }

  @Test
  void aKeyIsAskedForOnceForAsLongAsItIsKnown() throws RecordException {
    JdbcRows source = source(10);
    assertEquals("text", source.find(key).getUTF8String(2).toString());
    source.find(key);
    String sql = "SELECT \"id\", \"part No\", \"label\" FROM s.t WHERE \"id\" = ?";
    assertEquals(List.of(sql + " AND \"part No\" = ?[7, a]"), asked);
    clock.set(TimeUnit.SECONDS.toNanos(1));
    source.find(key);
    assertEquals(2, asked.size());
    assertEquals(1, opened.get());
  }

  @Test
  void thatThereIsNoRowIsKnownToo() throws RecordException {
    rows = 0;
    JdbcRows source = source(10);
    assertNull(source.find(key));
    assertNull(source.find(key));
    assertEquals(1, asked.size());
  }

  @Test
  void withoutACacheEachIsAskedFor() throws RecordException {
    JdbcRows source = source(0);
    source.find(key);
    source.find(key);
    assertEquals(2, asked.size());
  }

  @Test
  void aKeyThatIsNotUniqueIsSaid() {
    rows = 2;
    RecordException error = assertThrows(RecordException.class, () -> source(10).find(key));
    assertTrue(error.getMessage().contains("not unique"));
  }

  @Test
  void whatFailsIsAskedAgainByANewConnection() throws RecordException {
    JdbcRows source = source(10);
    failing = 2;
    assertEquals(7L, source.find(key).getLong(0));
    assertEquals(3, asked.size());
    assertEquals(3, opened.get());
    assertEquals(2, closed.get());
    source.close();
    assertEquals(3, closed.get());
  }

  @Test
  void whatFailsForLongIsSaidInALineAndIsNotKnown() throws RecordException {
    JdbcRows source = source(10);
    failing = Integer.MAX_VALUE;
    CodedException error = assertThrows(CodedException.class, () -> source.find(key));
    assertEquals("T in jdbc:x: the database is gone", error.getMessage());
    assertTrue(asked.size() > 3);
    int before = asked.size();
    assertThrows(CodedException.class, () -> source.find(key));
    assertEquals(before + 1, asked.size());
    failing = 0;
    assertEquals(7L, source.find(key).getLong(0));
    failing = 1;
    clock.set(TimeUnit.SECONDS.toNanos(1));
    assertEquals(7L, source.find(key).getLong(0));
  }

  @Test
  void anInterruptedTaskStops() {
    JdbcRows source = source(10);
    failing = Integer.MAX_VALUE;
    Thread.currentThread().interrupt();
    assertThrows(CodedException.class, () -> source.find(key));
    assertTrue(Thread.interrupted());
    assertEquals(0, asked.size() / 2);
  }

  @Test
  void secretsAreWhereTheyAreSaidToBe() throws Exception {
    Map<String, String> environment = Map.of("A", "1$", "B", "2");
    assertEquals("x1$2", References.resolved("x${env:A}${env:B}", environment));
    assertEquals("${x}", References.resolved("${x}", environment));
    Exception error =
        assertThrows(Exception.class, () -> References.resolved("${env:C}", environment));
    assertEquals("the environment has no variable C", error.getMessage());
    error =
        assertThrows(Exception.class, () -> References.resolved("${file:/no/such:k}", environment));
    assertEquals("the file /no/such cannot be read", error.getMessage());
  }
}
