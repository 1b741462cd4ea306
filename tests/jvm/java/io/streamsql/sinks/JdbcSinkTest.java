package io.streamsql.sinks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.databases.Database;
import io.streamsql.databases.Retries;
import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.kafka.MockProducers;
import io.streamsql.monitoring.ProcessingLog;
import io.streamsql.sinks.PlayedDatabase.Commit;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is in the table after batches, wherever one has ended, and in which SQL it is written. */
@Timeout(60)
class JdbcSinkTest {
  private final PlayedDatabase database = new PlayedDatabase();
  private final MockProducers.Shared reports = MockProducers.share(true);
  private final ProcessingLog log = new ProcessingLog("Q", "log", reports.settings(), false);

  private static JdbcTarget target(boolean upserts, int rows) {
    Database database = new Database("jdbc:postgresql://db/shop", "", "", List.of());
    List<String> keys = upserts ? List.of("ID") : List.of();
    List<String> names = List.of("ID", "odd Name");
    List<String> types = List.of("INTEGER", "STRING");
    return new JdbcTarget("O", "t", database, "shop.\"a.b\"", names, types, keys, rows);
  }

  private static InternalRow row(long offset, Integer id, String text) {
    Object value = text == null ? null : UTF8String.fromString(text);
    return new GenericInternalRow(new Object[] {id, value, text == null, 0, offset});
  }

  private void write(JdbcTarget target, String sink, long batch, InternalRow... rows) {
    long second = TimeUnit.SECONDS.toNanos(1);
    Retries retries = new Retries(ErrorCode.SINK_UNAVAILABLE, second, second / 10);
    SinkOffsets offsets = new SinkOffsets(target, sink, batch);
    try (JdbcWriter writer = new JdbcWriter(target, offsets, database::open, retries, log)) {
      for (InternalRow row : rows) {
        writer.add(row);
      }
      writer.flush();
    }
  }

  private static List<InternalRow> numbered(int from, int to) {
    List<InternalRow> rows = new ArrayList<>();
    for (int n = from; n < to; n++) {
      rows.add(row(n, n, "v" + n));
    }
    return rows;
  }

  private void append(String sink, long batch, int from, int to) {
    write(target(false, 3), sink, batch, numbered(from, to).toArray(InternalRow[]::new));
  }

  private List<Object> ids() {
    return database.rows().stream().map(row -> row.get(0)).toList();
  }

  @Test
  void aRepeatedBatchContinuesBehindWhatItHasWritten() {
    database.commits.addAll(List.of(Commit.WELL, Commit.LOST));
    append("O/1", 0, 0, 8);
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7), ids());
    assertEquals(List.of(3, 3, 2), database.transactions);
    append("O/1", 0, 0, 8);
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7), ids());
    append("O/1", 1, 8, 9);
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8), ids());
  }

  @Test
  void aCommitWhoseAnswerIsLostIsNotRepeated() {
    database.commits.addAll(List.of(Commit.ANSWER_LOST, Commit.ANSWER_LOST));
    append("O/1", 0, 0, 6);
    assertEquals(List.of(0, 1, 2, 3, 4, 5), ids());
    assertEquals(List.of(3, 3), database.transactions);
  }

  @Test
  void aDatabaseThatStaysAwayEndsTheTaskAndNothingIsLost() {
    for (int n = 0; n < 1_000; n++) {
      database.commits.add(Commit.LOST);
    }
    CodedException away = assertThrows(CodedException.class, () -> append("O/1", 0, 0, 3));
    assertEquals(ErrorCode.SINK_UNAVAILABLE, away.code());
    assertEquals("O in jdbc:postgresql://db/shop: the connection is lost", away.getMessage());
    database.commits.clear();
    append("O/1", 0, 0, 3);
    assertEquals(List.of(0, 1, 2), ids());
  }

  @Test
  void anotherProcessWritesTheSameBatchOnce() {
    database.meanwhile = () -> append("O/1", 0, 0, 3);
    append("O/1", 0, 0, 3);
    assertEquals(List.of(0, 1, 2), ids());
  }

  @Test
  void aNewSinkAndANewTopicBeginAnew() {
    append("O/1", 0, 0, 2);
    append("O/2", 0, 0, 2);
    assertEquals(List.of(0, 1, 0, 1), ids());
    // The topic was created again: the batch after has smaller offsets.
    append("O/1", 1, 0, 1);
    assertEquals(List.of(0, 1, 0, 1, 0), ids());
  }

  @Test
  void theRowsOfARecordAreNotSeparated() {
    InternalRow[] rows = {row(0, 1, "a"), row(1, 2, "b"), row(1, 3, "c"), row(1, 4, "d")};
    write(target(false, 2), "O/1", 0, rows);
    assertEquals(List.of(4), database.transactions);
  }

  @Test
  void theLastChangeOfAKeyCounts() {
    JdbcTarget target = target(true, 10);
    write(target, "O/1", 0, row(0, 1, "a"), row(1, 2, "b"), row(2, 1, null), row(3, 2, "c"));
    assertEquals(List.of(List.of(2, "c")), database.rows());
    write(target, "O/1", 1, row(4, 2, null), row(5, 1, "d"), row(6, 3, null));
    assertEquals(List.of(List.of(1, "d")), database.rows());
  }

  @Test
  void aRecordWithoutAValueIsAppended() {
    write(target(false, 10), "O/1", 0, row(0, 1, null));
    assertEquals(List.of(Arrays.asList(1, null)), database.rows());
  }

  @Test
  void aRefusedRowIsReportedAndTheOthersAreWritten() {
    database.refuses = row -> row.get(0).equals(4);
    write(target(false, 100), "O/1", 0, numbered(0, 9).toArray(InternalRow[]::new));
    assertEquals(List.of(0, 1, 2, 3, 5, 6, 7, 8), ids());
    assertEquals(List.of(8), database.transactions);
    assertEquals(1, reports.producer().history().size());
    byte[] entry = reports.producer().history().get(0).value();
    String text = new String(entry, StandardCharsets.UTF_8);
    assertTrue(text.contains("\"errorMessage\":\"the database refuses the row: ERROR: refused\""));
    assertTrue(text.contains("\"topic\":\"t\",\"partition\":0,\"offset\":4"));
    assertFalse(text.contains("secret"));
    write(target(false, 100), "O/1", 0, numbered(0, 9).toArray(InternalRow[]::new));
    assertEquals(1, reports.producer().history().size());
  }

  // -- SQL ----------------------------------------------------------------------------------------

  @Test
  void statementsOfPostgresql() {
    Dialect dialect = Dialect.of("jdbc:postgresql://db/shop");
    assertEquals(
        "INSERT INTO shop.\"a.b\" (\"id\", \"odd Name\") VALUES (?, ?)"
            + " ON CONFLICT (\"id\") DO UPDATE SET \"odd Name\" = EXCLUDED.\"odd Name\"",
        SinkRows.write(target(true, 1)));
    assertEquals(
        "INSERT INTO shop.\"a.b\" (\"id\", \"odd Name\") VALUES (?, ?)",
        SinkRows.write(target(false, 1)));
    assertEquals(
        "INSERT INTO t (a, b) VALUES (?, ?) ON CONFLICT (a, b) DO NOTHING",
        dialect.upsert("t", List.of("a", "b"), List.of("a", "b")));
    assertEquals("DELETE FROM t WHERE a = ? AND b = ?", dialect.delete("t", List.of("a", "b")));
    assertEquals(
        "CREATE TABLE IF NOT EXISTS t (a integer, b text, PRIMARY KEY (a))",
        dialect.create("t", List.of("a integer", "b text"), List.of("a")));
    assertEquals("shop.streamsql_offsets", target(true, 1).offsets());
    assertThrows(IllegalArgumentException.class, () -> Dialect.of("jdbc:other:x"));
  }

  @Test
  void errorsOfPostgresql() {
    Dialect dialect = Dialect.POSTGRESQL;
    for (String state : List.of("22003", "23505", "23502", "44000", "P0001", "54000")) {
      assertTrue(dialect.refusesRow(new SQLException("", state)), state);
    }
    for (String state : List.of("08006", "40P01", "53300", "57P01", "42P01", "25006")) {
      assertFalse(dialect.refusesRow(new SQLException("", state)), state);
    }
    assertFalse(dialect.refusesRow(new SQLException("")));
    for (String state : List.of("42501", "3F000")) {
      assertTrue(dialect.lasts(new SQLException("", state)), state);
    }
    assertFalse(dialect.lasts(new SQLException("", "28P01")));
  }

  @Test
  void errorsOfSqlite() {
    Dialect dialect = Dialect.of("jdbc:sqlite:/data/shop.db");
    SQLException missing = new SQLException("no such table: t", null, 1);
    SQLException duplicate = new SQLException("UNIQUE constraint failed", null, 19 | (8 << 8));
    SQLException busy = new SQLException("database is locked", null, 5);
    assertTrue(dialect.isMissing(missing) && dialect.lasts(missing));
    assertTrue(dialect.refusesRow(duplicate) && dialect.isDuplicate(duplicate));
    assertFalse(dialect.isMissing(busy) || dialect.lasts(busy) || dialect.refusesRow(busy));
  }

  @Test
  void valuesOfSqlite() {
    Dialect dialect = Dialect.SQLITE;
    assertEquals(
        "1970-01-01 00:00:00.001",
        dialect.sent(OffsetDateTime.parse("1970-01-01T00:00:00.001500Z")));
    assertEquals("12:00:00.000", dialect.sent(LocalTime.NOON));
    assertEquals(7, dialect.sent(7));
    assertEquals("numeric", dialect.type(ColumnType.DECIMAL, "DECIMAL(15, 2)"));
    assertEquals("text", dialect.type(ColumnType.DECIMAL, "DECIMAL(16, 2)"));
    assertEquals("bigint", dialect.type(ColumnType.BIGINT, "BIGINT"));
    assertTrue(dialect.fits(ColumnType.STRING, Types.INTEGER));
  }

  @Test
  void valuesAndTypes() {
    long noon = TimeUnit.HOURS.toMillis(12);
    Object[] values = {
      true,
      1,
      2L,
      0.5,
      Decimal.apply(new BigDecimal("1.50"), 4, 2),
      UTF8String.fromString("x"),
      new byte[] {1},
      1,
      noon,
      1_500L,
      UTF8String.fromString("[]")
    };
    List<String> declared =
        List.of(
            "BOOLEAN",
            "INTEGER",
            "BIGINT",
            "DOUBLE",
            "DECIMAL(4, 2)",
            "STRING",
            "BYTES",
            "DATE",
            "TIME",
            "TIMESTAMP",
            "JSON");
    List<String> created =
        List.of(
            "boolean",
            "integer",
            "bigint",
            "double precision",
            "numeric(4, 2)",
            "text",
            "bytea",
            "date",
            "time",
            "timestamp with time zone",
            "jsonb");
    List<Object> sent =
        List.of(
            true,
            1,
            2L,
            0.5,
            new BigDecimal("1.50"),
            "x",
            values[6],
            LocalDate.of(1970, 1, 2),
            LocalTime.NOON,
            OffsetDateTime.parse("1970-01-01T00:00:00.001500Z"),
            "[]");
    InternalRow row = new GenericInternalRow(values);
    InternalRow none = new GenericInternalRow(new Object[values.length]);
    for (int i = 0; i < values.length; i++) {
      ColumnType type = ColumnType.of(declared.get(i));
      assertEquals(created.get(i), Dialect.POSTGRESQL.type(type, declared.get(i)));
      assertEquals(sent.get(i), type.value(row, i, 4, 2));
      assertNull(type.value(none, i, 4, 2));
    }
    assertTrue(ColumnType.INTEGER.fits(Types.NUMERIC) && !ColumnType.STRING.fits(Types.INTEGER));
  }
}
