/** What uses Iceberg's classes: loaded apart, where a query needs them. */
package io.streamsql.iceberg.tables;
