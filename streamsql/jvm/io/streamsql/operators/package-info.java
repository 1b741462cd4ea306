/** The base of the state operators: rows packed as bytes, by key, in the order of their logs. */
package io.streamsql.operators;
