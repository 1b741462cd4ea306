package io.streamsql.iceberg;

import java.io.Serializable;
import java.util.List;
import java.util.Map;

/**
 * A table in a catalog of Iceberg.
 *
 * @param catalog HADOOP, JDBC or REST
 * @param properties of the catalog in Iceberg's names; values may contain references to secrets
 * @param table its namespace and name
 * @param jars files with Iceberg
 */
public record LakeTable(
    String catalog, Map<String, String> properties, String table, List<String> jars)
    implements Serializable {

  public LakeTable {
    properties = Map.copyOf(properties);
    jars = List.copyOf(jars);
  }

  /** The catalog, for messages. */
  public String place() {
    return properties.getOrDefault("uri", properties.get("warehouse"));
  }
}
