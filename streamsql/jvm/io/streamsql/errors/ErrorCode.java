package io.streamsql.errors;

/**
 * What an error of the engine means. {@code executor/spark/messages.py} has the same codes, and
 * {@code executor/queries/spark_run.py} says what each does to a query.
 */
public enum ErrorCode {
  /** The rows of a key, or of all keys in progress, exceed the memory that they may take. */
  MEMORY_LIMIT,
  /** A file or a database that a lookup join reads is not available. */
  LOOKUP_UNAVAILABLE,
  /** The database or the catalog of a sink is not available. */
  SINK_UNAVAILABLE,
  /** A table of Iceberg does not have the columns, or the snapshot, that a query reads. */
  LAKE_MISMATCH,
  /** The table of a sink cannot hold its rows. */
  SINK_MISMATCH,
  /** Kafka deleted records before the query read them. */
  DATA_LOSS,
  /** A change feed says that its table was truncated. */
  TABLE_TRUNCATED,
  /** A record violates a constraint with ON VIOLATION FAIL. */
  CONSTRAINT_VIOLATED,
  /** A record does not have its topic's format, and the query has no processing log. */
  RECORD_UNREADABLE,
  /** Kafka can never hold a result, and the query has no processing log. */
  RECORD_REFUSED,
  /** A match of MATCH_RECOGNIZE can continue in too many ways. */
  MATCH_AMBIGUOUS,
  /** A checkpoint belongs to a query with other topics. */
  CHECKPOINT_MISMATCH
}
