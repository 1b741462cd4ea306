/** Plans that are made once, and the pauses between the batches of streaming queries. */
package io.streamsql.queries;
