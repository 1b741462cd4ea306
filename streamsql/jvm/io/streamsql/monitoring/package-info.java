/** Monitoring of running queries: the processing log, counters, offsets read. */
package io.streamsql.monitoring;
