package io.streamsql.serving;

import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.DBOptions;
import org.rocksdb.IndexType;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.LRUCache;
import org.rocksdb.WriteBufferManager;

/** The settings of a {@link TableStore}'s database; loads the native library. */
final class StoreOptions implements AutoCloseable {
  /** The memory limit for all stores. */
  private static final long MEMORY = Long.getLong("streamsql.store.memory.mb", 128) << 20;

  /** Enough shards to avoid contention; a block must fit into one. */
  private static final int SHARD_BITS = 3;

  /** The share of index and filter blocks, which stay before data blocks. */
  private static final double FINDING = 0.2;

  private static final Cache CACHE = new LRUCache(MEMORY, SHARD_BITS, false, FINDING);
  private static final WriteBufferManager BUFFERS = new WriteBufferManager(MEMORY / 2, CACHE);

  final ColumnFamilyOptions family =
      new ColumnFamilyOptions()
          .setTableFormatConfig(
              new BlockBasedTableConfig()
                  .setBlockCache(CACHE)
                  .setFilterPolicy(new BloomFilter(10))
                  // Partitioned: the whole index of some million rows does not stay in the cache,
                  // so that each lookup would read it again.
                  .setIndexType(IndexType.kTwoLevelIndexSearch)
                  .setPartitionFilters(true)
                  .setPinTopLevelIndexAndFilter(true)
                  .setCacheIndexAndFilterBlocksWithHighPriority(true)
                  .setCacheIndexAndFilterBlocks(true))
          .setWriteBufferSize(16L << 20)
          .setCompressionType(CompressionType.LZ4_COMPRESSION);

  final DBOptions database =
      new DBOptions()
          .setCreateIfMissing(true)
          .setCreateMissingColumnFamilies(true)
          .setWriteBufferManager(BUFFERS)
          .setMaxOpenFiles(256)
          .setMaxTotalWalSize(64L << 20)
          .setKeepLogFileNum(1)
          .setInfoLogLevel(InfoLogLevel.ERROR_LEVEL);

  @Override
  public void close() {
    family.close();
    database.close();
  }
}
