package io.streamsql.serving;

import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.DBOptions;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.LRUCache;
import org.rocksdb.WriteBufferManager;

/** How the database of a {@link TableStore}, which loads the library, is set up. */
final class StoreOptions implements AutoCloseable {
  /** One bound for the memory of all stores. */
  private static final long MEMORY = Long.getLong("streamsql.store.memory.mb", 128) << 20;

  private static final Cache CACHE = new LRUCache(MEMORY);
  private static final WriteBufferManager BUFFERS = new WriteBufferManager(MEMORY / 2, CACHE);

  final ColumnFamilyOptions family =
      new ColumnFamilyOptions()
          .setTableFormatConfig(
              new BlockBasedTableConfig()
                  .setBlockCache(CACHE)
                  .setFilterPolicy(new BloomFilter(10))
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
