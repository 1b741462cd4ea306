/** Epochs: common cuts of the topics that views read. */
package io.streamsql.epochs;
