/** The errors of the engine that a query can end with, each with a code. */
package io.streamsql.errors;
