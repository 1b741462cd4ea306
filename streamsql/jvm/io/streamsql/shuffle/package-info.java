/** The shuffle of real-time queries whose tasks all run in one JVM: rows stay in its memory. */
package io.streamsql.shuffle;
