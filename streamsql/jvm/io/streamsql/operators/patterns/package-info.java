/** Row pattern matching: MATCH_RECOGNIZE. */
package io.streamsql.operators.patterns;
