/** The base of the state operators: packed rows, by key, in the order of their logs. */
package io.streamsql.operators;
