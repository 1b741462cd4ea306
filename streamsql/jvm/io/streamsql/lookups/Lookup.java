package io.streamsql.lookups;

import io.streamsql.formats.RecordException;
import io.streamsql.monitoring.ProcessingLog;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Looks rows up for a query, as a part of its generated code. */
public final class Lookup implements Serializable {
  private static final long serialVersionUID = 1L;

  private final LookupTable table;
  private final ProcessingLog log;
  private final String step;
  private transient DataType[] keyTypes;
  private transient volatile RowSources.Used asked;

  private Lookup(LookupTable table, ProcessingLog log, String step) {
    this.table = table;
    this.log = log;
    this.step = step;
  }

  public static Lookup of(LookupTable table, ProcessingLog log, String step) {
    return new Lookup(table, log, step);
  }

  public StructType rowType() {
    return table.schema();
  }

  /**
   * The row of a key, which is a struct of its columns; null where there is none, where a part of
   * the key is null, and, with an entry in the log, for a row that is not what was declared.
   *
   * @throws LookupException if the rows are out of reach, which somebody has to see to
   */
  public InternalRow find(InternalRow key) {
    List<Object> values = key == null ? null : values(key);
    if (values == null) {
      return null;
    }
    try {
      return source().find(values);
    } catch (RecordException e) {
      log.recordProcessingError(
          step, "The row of " + table.name() + " with key " + values + ": " + e.getMessage());
      return null;
    }
  }

  private RowSource source() {
    RowSources.Used used = asked;
    if (used == null || used.isGone()) {
      used = RowSources.of(table);
      asked = used;
    }
    return used.source();
  }

  private List<Object> values(InternalRow key) {
    if (keyTypes == null) {
      DataType[] types = new DataType[table.keys()];
      for (int i = 0; i < types.length; i++) {
        types[i] = table.column(i).dataType();
      }
      keyTypes = types;
    }
    List<Object> values = new ArrayList<>(keyTypes.length);
    for (int i = 0; i < keyTypes.length; i++) {
      if (key.isNullAt(i)) {
        return null;
      }
      values.add(key.get(i, keyTypes[i]));
    }
    return values;
  }

  @Override
  public String toString() {
    return "look-up in " + table.name();
  }
}
