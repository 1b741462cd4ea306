/** Exactly-once delivery: progress is committed in the transactions that write the results. */
package io.streamsql.delivery;
