package io.streamsql.lookups;

import io.streamsql.databases.Database;
import io.streamsql.databases.References;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The location, the columns and the request settings of a lookup table. It contains references to
 * secrets ({@link References}) instead of secrets, so it may be shown and sent.
 *
 * @param connection FILE or JDBC
 * @param place the file or folder; the URL of the database
 * @param format of files: PARQUET, JSON or CSV
 * @param table of a database
 * @param ttlMillis the maximum age of a cached row
 * @param rows of a database, the maximum number of cached rows
 * @param perSecond of a database, the maximum rate of requests; 0: unlimited
 * @param schema the rows' columns, those of the key first
 * @param keys the number of the key's columns
 * @param jars files with the database's driver, if it is not on the class path
 */
public record LookupTable(
    String name,
    String connection,
    String place,
    String format,
    String table,
    String user,
    String password,
    long ttlMillis,
    int rows,
    int perSecond,
    StructType schema,
    int keys,
    List<String> jars)
    implements Serializable {

  /** From Python: texts and numbers by name, the schema as Spark's JSON. */
  public static LookupTable of(
      Map<String, String> said, String schema, int keys, List<String> jars) {
    return new LookupTable(
        said.get("name"),
        said.get("connection"),
        said.get("place"),
        said.get("format"),
        said.get("table"),
        said.get("user"),
        said.get("password"),
        Long.parseLong(said.get("ttl")),
        Integer.parseInt(said.get("rows")),
        Integer.parseInt(said.get("per_second")),
        (StructType) DataType.fromJson(schema),
        keys,
        List.copyOf(jars));
  }

  Database database() {
    return new Database(place, user, password, jars);
  }

  StructField column(int number) {
    return schema.fields()[number];
  }

  /** Of the key's columns. */
  DataType[] keyTypes() {
    return Arrays.stream(schema.fields())
        .limit(keys)
        .map(StructField::dataType)
        .toArray(DataType[]::new);
  }

  /** The first columns of a row, which are its key; null if one of them is. */
  static List<Object> key(InternalRow row, DataType[] types) {
    List<Object> key = new ArrayList<>(types.length);
    for (int i = 0; i < types.length; i++) {
      if (row.isNullAt(i)) {
        return null;
      }
      key.add(row.get(i, types[i]));
    }
    return key;
  }
}
