package io.streamsql.lookups;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.databases.Retries;
import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.files.CheckedLocalFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files in memory: what is read of them, and when they are looked at again. */
@Timeout(60)
class FileRowsTest {
  private static final StructType SCHEMA =
      new StructType().add("ID", DataTypes.IntegerType).add("NAME", DataTypes.StringType);
  private final Retries retries =
      new Retries(
          ErrorCode.LOOKUP_UNAVAILABLE,
          TimeUnit.MILLISECONDS.toNanos(100),
          TimeUnit.MILLISECONDS.toNanos(50));

  private final AtomicLong clock = new AtomicLong();
  private final Configuration conf = new Configuration(false);
  @TempDir private Path folder;
  private Path file;

  @BeforeEach
  void start() {
    conf.set("fs.file.impl", CheckedLocalFiles.class.getName());
    file = folder.resolve("rows of %3A");
  }

  private FileRows source(String format, Path place) {
    LookupTable table =
        new LookupTable(
            "T", "FILE", place.toString(), format, "", "", "", 1000, 0, 0, SCHEMA, 1, List.of());
    return new FileRows(table, conf, retries, clock::get);
  }

  private static void write(Path path, String text) throws IOException {
    Files.write(path, text.getBytes(StandardCharsets.UTF_8));
  }

  private static String name(FileRows source, int id) {
    InternalRow row = source.find(List.of(id));
    return row == null || row.isNullAt(1) ? null : row.getUTF8String(1).toString();
  }

  @Test
  void columnsOfCsvAreFoundByTheirNames() throws IOException {
    write(
        file,
        "\uFEFFname,other,Id\r\n\"a,\"\"b\"\"\",x,1\r\n,x,2\r\n\"\",x,3\r\n z ,x,4\r\n,,\r\n");
    FileRows source = source("CSV", file);
    assertEquals("a,\"b\"", name(source, 1));
    assertNull(name(source, 2));
    assertEquals("", name(source, 3));
    assertEquals(" z ", name(source, 4));
    assertNull(name(source, 5));
  }

  @Test
  void theLastRowOfAKeyCounts() throws IOException {
    write(file, "{\"id\": 1, \"name\": \"a\"}\n{\"ID\": 1, \"NAME\": \"b\"}\n");
    assertEquals("b", name(source("JSON", file), 1));
  }

  @Test
  void aChangeIsSeenOnceTheTimeIsOver() throws IOException {
    write(file, "id,name\n1,a\n");
    FileRows source = source("CSV", file);
    assertEquals("a", name(source, 1));
    write(file, "id,name\n1,longer\n");
    clock.set(TimeUnit.SECONDS.toNanos(1) - 1);
    assertEquals("a", name(source, 1));
    clock.set(TimeUnit.SECONDS.toNanos(1));
    assertEquals("longer", name(source, 1));
  }

  @Test
  void aFolderIsAllOfItsFiles() throws IOException {
    write(folder.resolve("b.csv"), "id,name\n1,a\n");
    write(folder.resolve("c.csv"), "name,id\nb,2\n");
    write(folder.resolve("_SUCCESS"), "");
    write(folder.resolve("d.staged"), "x");
    Files.createDirectory(folder.resolve("inner"));
    FileRows source = source("CSV", folder);
    assertEquals("a", name(source, 1));
    assertEquals("b", name(source, 2));
    Files.delete(folder.resolve("b.csv"));
    clock.set(TimeUnit.SECONDS.toNanos(1));
    assertNull(name(source, 1));
  }

  @Test
  void whatIsNotThereOrNotAsDeclaredIsSaid() throws IOException {
    FileRows source = source("CSV", file);
    CodedException error = assertThrows(CodedException.class, () -> name(source, 1));
    assertTrue(error.getMessage().startsWith("T in " + file), error.getMessage());
    write(file, "id,label\n1,a\n");
    error = assertThrows(CodedException.class, () -> name(source, 1));
    assertTrue(error.getMessage().endsWith("has no column NAME in its header"));
    write(file, "id,name\n1,a\n\nx,b\n");
    error = assertThrows(CodedException.class, () -> name(source, 1));
    assertTrue(error.getMessage().contains("line 4, ID: expected INT, found text 'x'"));
    write(file, "id,name\n1,a\n");
    assertEquals("a", name(source, 1));
    Files.delete(file);
    clock.set(TimeUnit.SECONDS.toNanos(1));
    assertThrows(CodedException.class, () -> name(source, 1));
    write(file, "{}");
    FileRows json = source("JSON", file);
    assertNull(name(json, 1));
    write(file, "{\"id\": 1}\n{\"id\": \"x\"}\n");
    FileRows broken = source("JSON", file);
    error = assertThrows(CodedException.class, () -> name(broken, 1));
    assertTrue(error.getMessage().contains("line 2: $.ID: expected INT"), error.getMessage());
  }
}
