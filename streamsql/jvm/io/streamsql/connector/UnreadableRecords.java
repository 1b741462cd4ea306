package io.streamsql.connector;

import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.formats.RecordException;
import io.streamsql.monitoring.CurrentRecord;
import io.streamsql.monitoring.ProcessingLog;

/** Receives records that their formats cannot read. */
final class UnreadableRecords {
  private UnreadableRecords() {}

  /**
   * Reports the current record to the log; without a log it fails the query.
   *
   * @param target the side of the record: {@code key} or {@code value}
   */
  static void report(
      ProcessingLog log, String step, String target, RecordException error, byte[] record) {
    if (log != null) {
      log.deserializationError(step, target, error.getMessage(), record);
      return;
    }
    CurrentRecord at = CurrentRecord.get();
    throw new CodedException(
        ErrorCode.RECORD_UNREADABLE,
        "cannot read the "
            + target
            + " of "
            + at.topic()
            + " partition "
            + at.partition()
            + " offset "
            + at.offset()
            + ": "
            + error.getMessage());
  }
}
