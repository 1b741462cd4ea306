/** Reduces Spark's pauses between the batches of streaming queries, and reports their status. */
package io.streamsql.queries;
