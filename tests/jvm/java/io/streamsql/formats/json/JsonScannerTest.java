package io.streamsql.formats.json;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonParser;
import io.streamsql.formats.Json;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the scanner reads, the parser reads as well, and as the same values. */
class JsonScannerTest {
  private static final StructType COLUMNS =
      StructType.fromDDL(
          "N INT, B BIGINT, D DOUBLE, T STRING, TRUTH BOOLEAN, AT TIMESTAMP, DAY DATE, `low` INT,"
              + " LOW BIGINT");
  private static final JsonScanner SCANNER = JsonScanner.of(COLUMNS);
  private static final String[] NAMES = {
    "N", "n", "B", "b", "D", "d", "T", "t", "TRUTH", "truth", "AT", "DAY", "low", "Low", "LOW", "X",
    "other", "", "N ", "\\u004e", "\u00fc"
  };
  private static final String[] VALUES = {
    "1",
    "0",
    "-0",
    "-1",
    "01",
    "2147483648",
    "123456789012345678",
    "1234567890123456789",
    "99999999999999999999",
    "1.5",
    "-0.0",
    "1e3",
    "1E-7",
    "1.",
    ".5",
    "1e",
    "-",
    "+1",
    "1x",
    "9223372036854775",
    "9223372036854776",
    "-9223372036854776",
    "123456789012345.678901234567",
    "0.30000000000000004",
    "true",
    "false",
    "null",
    "tru",
    "nullx",
    "NaN",
    "\"\"",
    "\"a\"",
    "\"12\"",
    "\"a\\n\"",
    "\"\u00fc\"",
    "\"\t\"",
    "\"2020-01-01\"",
    "\"open",
    "[]",
    "{}",
    "[1,2]",
    "{\"N\":1}",
    ""
  };
  private static final String[] SPACES = {"", "", "", " ", "\n", "\t\r ", "\u000b"};

  private static Object[] scanned(String text) {
    Object[] fields = new Object[COLUMNS.length()];
    boolean read = SCANNER.read(text.getBytes(StandardCharsets.UTF_8), 0, fields, 0);
    if (!read) {
      assertArrayEquals(new Object[COLUMNS.length()], fields);
    }
    return read ? fields : null;
  }

  private static Object[] parsed(String text) throws Exception {
    Object[] fields = new Object[COLUMNS.length()];
    try (JsonParser parser = Json.FACTORY.createParser(text.getBytes(StandardCharsets.UTF_8))) {
      parser.nextToken();
      new JsonReader.Struct(COLUMNS).readInto(parser, fields, 0);
      assertNull(parser.nextToken());
    }
    return fields;
  }

  @Test
  void readsWhatMostRecordsAre() {
    Object[] read =
        scanned(
            "{\"n\": 1, \"b\":-2,\"d\":0.5,\"T\":\"a b\",\"truth\":true,\"at\":5,\"url\":\"x\","
                + " \"z\":null }");
    Object[] expected = {1, -2L, 0.5, UTF8String.fromString("a b"), true, 5000L, null, null, null};
    assertArrayEquals(expected, read);
  }

  @Test
  void theExactNameComesFirst() {
    Object[] read = scanned("{\"low\":1,\"Low\":2}");
    assertEquals(1, read[7]);
    assertEquals(2L, read[8]);
  }

  @Test
  void agreesWithTheParserOnWhateverItReads() throws Exception {
    Random random = new Random(7);
    int read = 0;
    for (int round = 0; round < 200_000; round++) {
      String text = object(random);
      Object[] fields = scanned(text);
      if (fields != null) {
        read++;
        assertArrayEquals(parsed(text), fields, text);
      }
    }
    assertTrue(read > 20_000, "only " + read);
  }

  private static String object(Random random) {
    StringBuilder text = new StringBuilder(any(random, SPACES)).append('{');
    int count = random.nextInt(4);
    for (int i = 0; i < count; i++) {
      text.append(i == 0 ? "" : ",").append(any(random, SPACES));
      text.append('"').append(any(random, NAMES)).append('"').append(any(random, SPACES));
      text.append(':').append(any(random, SPACES)).append(any(random, VALUES));
      text.append(any(random, SPACES));
    }
    text.append('}').append(any(random, SPACES));
    if (random.nextInt(20) == 0) {
      text.setLength(random.nextInt(text.length()));
    } else if (random.nextInt(20) == 0) {
      text.insert(random.nextInt(text.length()), "},x{".charAt(random.nextInt(4)));
    }
    return text.toString();
  }

  private static String any(Random random, String[] of) {
    return of[random.nextInt(of.length)];
  }

  @ParameterizedTest
  @ValueSource(strings = {"V ARRAY<INT>", "A INT, V DECIMAL(4,2)", "V BINARY"})
  void leavesOtherTypesToTheParser(String columns) {
    assertNull(JsonScanner.of(StructType.fromDDL(columns)));
  }
}
