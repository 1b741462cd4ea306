/** Pull queries: tables kept in RocksDB, looked up and scanned by compiled plans. */
package io.streamsql.serving;
