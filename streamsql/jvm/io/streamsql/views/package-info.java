/** Materialized views: a dataflow over changes with weights, and the state that it keeps. */
package io.streamsql.views;
