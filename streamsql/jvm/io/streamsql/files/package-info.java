/** Local files as Spark's checkpoints need them: no child processes, one step, synced. */
package io.streamsql.files;
