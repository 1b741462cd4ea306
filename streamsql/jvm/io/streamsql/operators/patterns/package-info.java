/** Rows that follow each other in a pattern: MATCH_RECOGNIZE. */
package io.streamsql.operators.patterns;
