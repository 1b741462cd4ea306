/** State that is there, made into that of a query that keeps less of it, or in other parts. */
package io.streamsql.state;
