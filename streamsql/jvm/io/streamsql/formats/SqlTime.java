package io.streamsql.formats;

import org.apache.spark.sql.types.StructField;

/**
 * Distinguishes TIME from BIGINT: both are Spark's bigint, so the schema's field has {@code "sql":
 * "TIME"} in its metadata, or, for containers, the SQL type that contains it ({@code ARRAY<TIME>}).
 */
public final class SqlTime {
  private SqlTime() {}

  public static boolean isTime(StructField field) {
    return isTime(declared(field));
  }

  public static boolean isTime(String declared) {
    return "TIME".equals(declared);
  }

  /** The SQL type in the metadata, empty if there is none. */
  public static String declared(StructField field) {
    return field.metadata().contains("sql") ? field.metadata().getString("sql") : "";
  }

  /** The type of an array's elements or a map's values, given the container's declared type. */
  public static String element(String declared) {
    int open = declared.indexOf('<');
    if (open < 0 || !declared.endsWith(">")) {
      return "";
    }
    String inside = declared.substring(open + 1, declared.length() - 1);
    boolean map = declared.startsWith("MAP");
    return (map ? inside.substring(inside.indexOf(',') + 1) : inside).trim();
  }
}
