/** Local files for Spark's checkpoints: no child processes, atomic, synced. */
package io.streamsql.files;
