package io.streamsql.lookups;

import io.streamsql.errors.CodedException;
import io.streamsql.formats.RecordException;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/** Gives rows by their keys; used by all tasks of a process at once. */
interface RowSource extends AutoCloseable {
  /**
   * The row, which must not be modified; null if there is none. The key's values are Spark's, and
   * may be part of a row that is about to be overwritten: copy what is kept.
   *
   * @throws RecordException if the row does not fit the declaration
   * @throws CodedException if the source is unavailable
   */
  InternalRow find(List<Object> key) throws RecordException;

  @Override
  void close();
}
