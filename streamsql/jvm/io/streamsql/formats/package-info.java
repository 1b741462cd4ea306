/** Record formats: a {@code Codec} converts one side of a record between bytes and columns. */
package io.streamsql.formats;
