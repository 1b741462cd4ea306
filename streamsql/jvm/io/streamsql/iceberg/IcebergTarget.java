package io.streamsql.iceberg;

import java.io.Serializable;
import java.util.List;
import java.util.Map;

/**
 * The table of Iceberg that a sink writes.
 *
 * @param name of the sink
 * @param topic whose records are the rows
 * @param catalog HADOOP, JDBC or REST
 * @param properties of the catalog in Iceberg's names; values may contain references to secrets
 * @param table its namespace and name
 * @param schema of the rows, as Iceberg's JSON; a row has the values of its columns, whether it is
 *     deleted, partition and offset
 * @param columns the names of the rows' columns in the source
 * @param dropped columns of the table that the sink has written before, and drops
 * @param kept columns that it has written before, and that are none of those that it adds
 * @param keys the names of the key's columns; empty: rows are only appended
 * @param partitionBy transforms, such as {@code bucket 16 id}
 * @param retentionMs how long snapshots are kept; 0: as the table says
 * @param jars files with Iceberg
 */
public record IcebergTarget(
    String name,
    String topic,
    String catalog,
    Map<String, String> properties,
    String table,
    String schema,
    List<String> columns,
    List<String> dropped,
    List<String> kept,
    List<String> keys,
    List<String> partitionBy,
    long retentionMs,
    List<String> jars)
    implements Serializable {

  public IcebergTarget {
    properties = Map.copyOf(properties);
    columns = List.copyOf(columns);
    dropped = List.copyOf(dropped);
    kept = List.copyOf(kept);
    keys = List.copyOf(keys);
    partitionBy = List.copyOf(partitionBy);
    jars = List.copyOf(jars);
  }

  public boolean upserts() {
    return !keys.isEmpty();
  }

  public LakeTable lake() {
    return new LakeTable(catalog, properties, table, jars);
  }

  /** The sink, and where it writes, for messages. */
  public String place() {
    return name + " in " + lake().place();
  }
}
