package io.streamsql.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The functions that Spark has no expressions for: what they give, and when they give null. */
class FunctionsTest {
  private static UTF8String text(String text) {
    return UTF8String.fromString(text);
  }

  private static String shown(Object value) {
    return value == null ? null : value.toString();
  }

  private static String shown(ArrayData array) {
    return array == null
        ? null
        : Arrays.stream(array.toObjectArray(DataTypes.StringType))
            .map(String::valueOf)
            .collect(Collectors.joining("|"));
  }

  private static GenericArrayData texts(String... texts) {
    return new GenericArrayData(Arrays.stream(texts).map(FunctionsTest::text).toArray());
  }

  // -- dates and times ----------------------------------------------------------------------------

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      nullValues = "null",
      value = {
        "yyyy-MM-dd HH:mm,UTC,1970-01-02 03:04,97440000000",
        "yyyy-MM-dd HH:mm,Europe/Berlin,2021-07-01 12:00,1625133600000000",
        "yyyy-MM-dd HH:mmX,Europe/Berlin,2021-07-01 12:00Z,1625140800000000",
        "yyyy-MM-dd,UTC,2020-02-29,1582934400000000",
        "HH:mm,UTC,00:01,60000000",
        "dd MMM yyyy,UTC,01 jan 1970,0",
        "yyyy-MM-dd,UTC,2021-02-29x,null",
        "yyyy-MM-dd,Nowhere/City,2021-02-28,null",
        "QQQQQQ,UTC,x,null",
      })
  void timestampsAreRead(String pattern, String zone, String given, Long micros) {
    assertEquals(micros, DateTimes.parseTimestamp(text(given), text(pattern), text(zone)));
  }

  @ParameterizedTest
  @CsvSource(
      nullValues = "null",
      value = {
        "0,yyyy-MM-dd HH:mm:ss.SSSSSS,UTC,1970-01-01 00:00:00.000000",
        "-1,yyyy-MM-dd HH:mm:ss.SSSSSS,UTC,1969-12-31 23:59:59.999999",
        "1625133600000000,HH:mm z,Europe/Berlin,12:00 CEST",
        "0,yyyy,Nowhere/City,null",
        "0,{,UTC,null",
      })
  void timestampsAreWritten(long micros, String pattern, String zone, String expected) {
    assertEquals(expected, shown(DateTimes.formatTimestamp(micros, text(pattern), text(zone))));
  }

  @Test
  void datesAndTimesAreReadAndWritten() {
    assertEquals("2020-02-29", shown(DateTimes.formatDate(18321, text("yyyy-MM-dd"))));
    assertEquals(18321, DateTimes.parseDate(text("2020-02-29 and more"), text("yyyy-MM-dd")));
    assertNull(DateTimes.parseDate(text("2020-02-29 01:00"), text("yyyy-MM-dd HH:mm")));
    assertNull(DateTimes.parseWholeDate(text("2020-02-29 and more"), text("yyyy-MM-dd")));
    assertEquals(-1, DateTimes.parseWholeDate(text("1969-12-31"), text("yyyy-MM-dd")));
    assertEquals("23:59:59.999", shown(DateTimes.formatTime(86_399_999, text("HH:mm:ss.SSS"))));
    assertEquals(86_399_999L, DateTimes.parseTime(text("23:59:59.999"), text("HH:mm:ss.SSS")));
    assertNull(DateTimes.parseTime(text("1970 00:00"), text("yyyy HH:mm")));
    assertNull(DateTimes.formatTime(0, text("yyyy")), "a time of day has no year");
  }

  @ParameterizedTest
  @CsvSource({"-1", "86400000", "9223372036854775807"})
  void whatIsNoTimeOfDayIsNull(long millis) {
    assertNull(DateTimes.formatTime(millis, text("HH:mm")));
  }

  @Test
  void aZoneIsConvertedByItsOffsetThen() {
    long summer = 1_625_140_800_000_000L;
    long hour = 3_600_000_000L;
    UTF8String berlin = text("Europe/Berlin");
    assertEquals(summer + 2 * hour, DateTimes.convertZone(summer, text("UTC"), berlin));
    assertEquals(hour, DateTimes.convertZone(0, text("UTC"), berlin));
    assertNull(DateTimes.convertZone(0, text("UTC"), text("Nowhere")));
  }

  // -- JSON ---------------------------------------------------------------------------------------

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      nullValues = "null",
      value = {
        "{\"a\":{\"b\":[1,\"x\"]}};$.a.b[1];x",
        "{\"a\":{\"b\":[1,\"x\"]}};$.a.b;[1,\"x\"]",
        "{\"a b\":1.50};$[\"a b\"];1.50",
        "{\"a b\":1.50};$['a b'];1.50",
        "{\"a\":1,\"a\":2};$.a;2",
        "{\"a\":1};$.b;null",
        "{\"a\":1};$.a.b;null",
        "[1,2];$[2];null",
        "[1,2];$[-1];null",
        "7;$;7",
        "``;$;null",
        "{\"a\":;$.a;null",
        "{\"a\":1;$.a;null",
        "{\"a\":1};a;null",
        "{\"a\":1};$a;null",
      })
  void aPathFindsItsValue(String json, String path, String expected) {
    assertEquals(expected, shown(JsonTexts.extract(text(json), text(path))));
  }

  @Test
  void aNullOfJsonIsAText() {
    assertEquals("null", shown(JsonTexts.extract(text("{\"a\":null}"), text("$.a"))));
  }

  @Test
  void jsonIsTakenApartAndPutTogether() {
    assertEquals("1|\"x\"|{\"a\":[]}", shown(JsonTexts.items(text("[1,\"x\",{\"a\":[]}]"))));
    assertNull(JsonTexts.items(text("{}")));
    MapData records = JsonTexts.records(text("{\"a\":\"x\",\"b\":[1]}"));
    assertEquals("a|b", shown(records.keyArray()));
    assertEquals("x|[1]", shown(records.valueArray()));
    assertNull(JsonTexts.records(text("[]")));
    assertEquals(
        "{\"a\":2,\"b\":1}", shown(JsonTexts.concat(texts("{\"a\":1,\"b\":1}", "{\"a\":2}"))));
    assertEquals("[1,{\"a\":2},3]", shown(JsonTexts.concat(texts("[1]", "{\"a\":2}", "3"))));
    assertNull(JsonTexts.concat(texts("[1]", "]")));
    assertNull(JsonTexts.concat(texts("[1]", null)));
    assertTrue(JsonTexts.canExtract(text("[]"), text("$.a")));
    assertFalse(JsonTexts.canExtract(text("["), text("$.a")));
    assertFalse(JsonTexts.canExtract(text("[]"), text("a")));
  }

  // -- regular expressions and URLs ---------------------------------------------------------------

  @Test
  void aPatternFindsReplacesAndSplits() {
    assertEquals("b-a", shown(Regex.replace(text("a-b"), text("(\\w)-(\\w)"), text("$2-$1"))));
    assertNull(Regex.replace(text("a"), text("a"), text("$1")), "no such group");
    assertNull(Regex.replace(text("a"), text("("), text("b")));
    assertEquals("|b|", shown(Regex.split(text("aba"), text("a"))));
    assertEquals("2", shown(Regex.extract(text("(\\d)(\\d)"), text("x12"), 2)));
    assertNull(Regex.extract(text("(\\d)"), text("x12"), 2));
    assertNull(Regex.extract(text("(\\d)"), text("x"), 1));
    assertNull(Regex.extract(text("(a)|b"), text("b"), 1), "the group took no part");
    assertEquals("1|2", shown(Regex.extractAll(text("\\d"), text("x12"), 0)));
    assertEquals("null", shown(Regex.extractAll(text("(a)|b"), text("b"), 1)));
    assertNull(Regex.extractAll(text("\\d"), text("x12"), -1));
    assertTrue(Regex.isPattern(text("a*")));
    assertFalse(Regex.isPattern(text("*a")));
  }

  @Test
  void aUrlHasItsParts() {
    UTF8String url = text("https://ann@host.org:81/a%20b?x=1&y&x=2&z=a%26b#end");
    assertEquals("https", shown(Urls.protocol(url)));
    assertEquals("host.org", shown(Urls.host(url)));
    assertEquals(81, Urls.port(url));
    assertEquals("/a b", shown(Urls.path(url)));
    assertEquals("end", shown(Urls.fragment(url)));
    assertEquals("1", shown(Urls.parameter(url, text("x"))));
    assertEquals("", shown(Urls.parameter(url, text("y"))));
    assertNull(Urls.parameter(url, text("none")));
    assertNull(Urls.port(text("http://host")));
    assertNull(Urls.host(text("mailto:ann@host.org")));
    assertFalse(Urls.isUrl(text("a b")));
  }

  // -- what is kept -------------------------------------------------------------------------------

  @Test
  void whatWasMadeIsKeptUntilThereIsTooMuch() {
    Memo<Object> memo = new Memo<>(name -> new Object());
    Object first = memo.get("a");
    assertSame(first, memo.get("a"));
    for (int i = 0; i < 1000; i++) {
      assertSame(memo.get("x" + i), memo.get("x" + i));
    }
    assertNotSame(first, memo.get("a"));
    Memo<Object> failing =
        new Memo<>(
            name -> {
              throw new IllegalArgumentException(name);
            });
    for (int i = 0; i < 2; i++) {
      assertThrows(IllegalArgumentException.class, () -> failing.get("b"));
    }
  }
}
