package io.streamsql.connector;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Values of all SQL types, in Catalyst's form, that a codec may get wrong. */
final class EdgeValues {
  private static final Set<String> ALL = Set.of("JSON", "DELIMITED", "KAFKA");
  private static final Set<String> FLAT = Set.of("JSON", "DELIMITED");
  private static final Set<String> NESTED = Set.of("JSON");

  static final List<Kind> KINDS =
      List.of(
          new Kind("INT", ALL, 0, -1, Integer.MIN_VALUE, Integer.MAX_VALUE),
          new Kind("BIGINT", ALL, 0L, -1L, Long.MIN_VALUE, Long.MAX_VALUE),
          new Kind(
              "DOUBLE",
              ALL,
              0.0,
              -0.0,
              0.1,
              Double.MIN_VALUE,
              -Double.MAX_VALUE,
              Double.NaN,
              Double.POSITIVE_INFINITY,
              Double.NEGATIVE_INFINITY),
          new Kind("BOOLEAN", FLAT, true, false),
          new Kind("STRING", ALL, text("a"), text(" \"ü\",\r\n'\u0001"), text("\uD83D\uDE00")),
          new Kind("BINARY", ALL, everyByte(), new byte[] {-1}),
          new Kind(
              "DECIMAL(38,10)",
              FLAT,
              decimal("9999999999999999999999999999.9999999999", 38, 10),
              decimal("-9999999999999999999999999999.9999999999", 38, 10),
              decimal("0.0000000001", 38, 10),
              decimal("0", 38, 10)),
          new Kind("DECIMAL(4,2)", FLAT, decimal("99.99", 4, 2), decimal("-1.50", 4, 2)),
          new Kind("DATE", FLAT, 0, -1, -719162, 2932896),
          new Kind("TIMESTAMP", FLAT, 0L, -1_000L, -62135596800000_000L, 253402300799999_000L),
          new Kind("TIME", FLAT, 0L, 1L, 86_399_999L),
          new Kind("ARRAY<TIME>", NESTED, array(0L, null, 86_399_999L)),
          new Kind("MAP<STRING,TIME>", NESTED, map(text("k"), 43_200_001L, text("n"), null)),
          new Kind("ARRAY<INT>", NESTED, array(), array(1, null, -1)),
          new Kind("MAP<STRING,BIGINT>", NESTED, map(), map(text("k"), 1L, text(""), null)),
          new Kind(
              "STRUCT<A: INT, B: ARRAY<STRUCT<C: STRING>>>",
              NESTED,
              row(null, null),
              row(1, array(row(text("x")), null, row((Object) null)))));

  private EdgeValues() {}

  /** The columns that DDL names, of which one may be TIME or hold it: Spark has no such type. */
  static StructType columns(String ddl) {
    if (ddl.isEmpty()) {
      return new StructType();
    }
    StructType columns = StructType.fromDDL(ddl.replaceAll("\\bTIME\\b", "BIGINT"));
    if (!ddl.matches(".*\\bTIME\\b.*")) {
      return columns;
    }
    StructField only = columns.fields()[0];
    String declared = ddl.substring(only.name().length() + 1);
    return new StructType()
        .add(
            new StructField(
                only.name(),
                only.dataType(),
                true,
                new MetadataBuilder().putString("sql", declared).build()));
  }

  /** A type, and which of the formats without a schema hold it. */
  record Kind(String ddl, Set<String> formats, List<Object> values) {
    Kind(String ddl, Set<String> formats, Object... values) {
      this(ddl, formats, Arrays.asList(values));
    }

    boolean isHeldBy(String format) {
      return formats.contains(format);
    }
  }

  static UTF8String text(String text) {
    return UTF8String.fromString(text);
  }

  static Decimal decimal(String digits, int precision, int scale) {
    return Decimal.apply(new BigDecimal(digits).setScale(scale), precision, scale);
  }

  static GenericArrayData array(Object... elements) {
    return new GenericArrayData(elements);
  }

  /** Of keys and values in turn. */
  static ArrayBasedMapData map(Object... entries) {
    Object[] keys = new Object[entries.length / 2];
    Object[] values = new Object[entries.length / 2];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = entries[2 * i];
      values[i] = entries[2 * i + 1];
    }
    return new ArrayBasedMapData(array(keys), array(values));
  }

  static GenericInternalRow row(Object... fields) {
    return new GenericInternalRow(fields);
  }

  private static byte[] everyByte() {
    byte[] bytes = new byte[256];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) i;
    }
    return bytes;
  }

  /** A value as text that is equal for equal values alone. */
  static String shown(Object value) {
    if (value instanceof byte[] bytes) {
      return "x'" + HexFormat.of().formatHex(bytes) + "'";
    } else if (value instanceof GenericArrayData array) {
      return "[" + shownAll(array.array()) + "]";
    } else if (value instanceof ArrayBasedMapData map) {
      return shown(map.keyArray()) + "->" + shown(map.valueArray());
    } else if (value instanceof GenericInternalRow row) {
      return "(" + shownAll(row.values()) + ")";
    }
    return String.valueOf(value);
  }

  static String shownAll(Object[] values) {
    List<String> texts = new ArrayList<>();
    Arrays.asList(values).forEach(value -> texts.add(shown(value)));
    return String.join(", ", texts);
  }
}
