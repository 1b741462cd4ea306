package io.streamsql.lookups;

import io.streamsql.formats.RecordException;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/** Gives rows by their keys; used by all tasks of a process at once. */
interface RowSource extends AutoCloseable {
  /**
   * The row, whose values nobody may change; null if there is none. The key's values are Spark's,
   * and may be those of a row that is about to be overwritten: what is kept of them is copied.
   *
   * @throws RecordException if the row is not what was declared
   * @throws LookupException if the rows are out of reach
   */
  InternalRow find(List<Object> key) throws RecordException;

  @Override
  void close();
}
