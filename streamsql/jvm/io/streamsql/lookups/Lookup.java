package io.streamsql.lookups;

import io.streamsql.errors.CodedException;
import io.streamsql.formats.RecordException;
import io.streamsql.monitoring.ProcessingLog;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Looks rows up for a query from its generated code. */
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
   * The row of a key, which is a struct of its columns; null if there is none, if a part of the key
   * is null, and, with an entry in the log, if the row does not fit its declaration.
   *
   * @throws CodedException if the source is unavailable
   */
  public InternalRow find(InternalRow key) {
    if (keyTypes == null) {
      keyTypes = table.keyTypes();
    }
    List<Object> values = key == null ? null : LookupTable.key(key, keyTypes);
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

  @Override
  public String toString() {
    return "lookup in " + table.name();
  }
}
