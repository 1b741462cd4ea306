/** The shuffle of real-time queries where all tasks run in one JVM: rows never leave its memory. */
package io.streamsql.shuffle;
