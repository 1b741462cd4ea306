package io.streamsql.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class JsonbTest {
  private static UTF8String utf8(String text) {
    return UTF8String.fromString(text);
  }

  @Test
  void keysAreSortedByLengthAndNumbersKeepTheirDigits() {
    UTF8String json = utf8("{\"bb\":1e2, \"a\":[1.50,null],\"a\":{\"é\":\"\\n\"}}");
    assertEquals("{\"a\": {\"é\": \"\\n\"}, \"bb\": 100}", Jsonb.canonical(json, true).toString());
  }

  @Test
  void whatIsNoJsonIsAnErrorOnlyWhereItIsStrict() {
    UTF8String text = utf8("{} {}");
    assertThrows(IllegalArgumentException.class, () -> Jsonb.canonical(text, true));
    assertNull(Jsonb.canonical(text, false));
    assertNull(Jsonb.contains(utf8("{}"), text, false));
    assertNull(Jsonb.elements(text, false));
    assertNull(Jsonb.entries(utf8("[]"), false));
    assertNull(Jsonb.delete(utf8("1"), utf8("a"), false));
    assertThrows(IllegalArgumentException.class, () -> Jsonb.elements(utf8("{}"), true));
  }

  @Test
  void pathsAndPlacesCountFromTheEndBelowZero() {
    assertEquals("3", Jsonb.textAt(utf8("{\"a\":[1,2,3]}"), utf8("$['a'][-1]"), true).toString());
    assertNull(Jsonb.at(utf8("[1]"), utf8("$[5]"), true));
    GenericArrayData path = new GenericArrayData(new Object[] {utf8("a"), utf8("-1")});
    UTF8String json = utf8("{\"a\": [1, 2]}");
    assertEquals("{\"a\": [1]}", Jsonb.set(json, path, utf8(""), false, true).toString());
    assertEquals("{\"a\": [1, 9]}", Jsonb.set(json, path, utf8("9"), false, true).toString());
  }
}
