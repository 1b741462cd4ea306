/**
 * What all record formats share, and those that are one class: a {@code Codec} is one side of a
 * record between bytes and columns.
 */
package io.streamsql.formats;
