/** How Spark is made to run streaming queries without standing still. */
package io.streamsql.queries;
