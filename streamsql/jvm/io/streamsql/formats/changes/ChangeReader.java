package io.streamsql.formats.changes;

import io.streamsql.formats.RecordException;
import java.io.Serializable;
import java.util.List;

/** Reads the changes in a record: some tools write one per record, some one per statement. */
public interface ChangeReader extends Serializable {
  /**
   * Adds the changes in a record's value, in order; changes without rows, such as a new column, add
   * none.
   *
   * @return false if the value is JSON null
   */
  boolean read(byte[] value, List<Change> out) throws RecordException;

  /** The columns in a record's key, the others null: all that a tombstone has. */
  Object[] key(byte[] key) throws RecordException;
}
