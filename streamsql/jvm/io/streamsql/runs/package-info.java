/** Runs of queries, and what each of them owns. */
package io.streamsql.runs;
