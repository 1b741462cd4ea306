/** Exactly-once delivery: what a query has written, said in the transactions that write it. */
package io.streamsql.delivery;
