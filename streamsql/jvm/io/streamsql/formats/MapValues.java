package io.streamsql.formats;

import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/** Builds the value of a MAP column from decoded entries. */
public final class MapValues {
  private MapValues() {}

  /** The entries in order; keys and values in Catalyst's form. */
  public static ArrayBasedMapData of(Map<Object, Object> entries) {
    return new ArrayBasedMapData(
        new GenericArrayData(entries.keySet().toArray()),
        new GenericArrayData(entries.values().toArray()));
  }
}
