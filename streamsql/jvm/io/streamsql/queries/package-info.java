/** How Spark is made to run streaming queries without standing still, and what they do now. */
package io.streamsql.queries;
