package io.streamsql.lookups;

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
 * Where rows are, what they are made of and how they are asked for. Secrets are in it by what they
 * are called ({@link References}), so it may be shown and sent anywhere.
 *
 * @param connection FILE or JDBC
 * @param place the file or folder; the URL of the database
 * @param format of files: PARQUET, JSON or CSV
 * @param table of a database
 * @param ttlMillis how old what is known may be
 * @param rows of a database, how many rows are known at the most
 * @param perSecond of a database, how often it is asked at the most; 0: as often as there is need
 * @param schema the rows' columns, those of the key first
 * @param keys how many columns the key has
 * @param jars files with the database's driver, where it is not on the class path
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

  /** As Python says it: its texts and numbers by their names, the schema as Spark's JSON. */
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
