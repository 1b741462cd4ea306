package io.streamsql.formats.changes;

import io.streamsql.formats.RecordException;
import java.io.Serializable;
import java.util.List;

/** Reads the changes that a record tells of: one of a database, some of a statement's rows. */
public interface ChangeReader extends Serializable {
  /**
   * Adds the changes that a record's value holds, in their order; of those that are none of rows,
   * such as a new column, none.
   *
   * @return false if the value stands for none (JSON null)
   */
  boolean read(byte[] value, List<Change> out) throws RecordException;

  /** The columns that a record's key names, the others null: all that a tombstone tells. */
  Object[] key(byte[] key) throws RecordException;
}
