/** Changelogs of tables: filters that retract, duplicates, rows moving between groups, Top-N. */
package io.streamsql.operators.tables;
