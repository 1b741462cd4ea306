/** Operators in Spark's plans that access state, and the migration of a GROUP BY's state. */
package io.streamsql.state;
