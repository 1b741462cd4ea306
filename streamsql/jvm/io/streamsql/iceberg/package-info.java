/** The sink that writes tables of Iceberg, without Iceberg's classes: see {@code tables}. */
package io.streamsql.iceberg;
