package io.streamsql.shuffle;

import java.io.IOException;
import java.io.InterruptedIOException;
import org.apache.spark.Partitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/** Puts what a task makes into the lanes of a shuffle. */
final class ExchangeWriter<K, V> extends ShuffleWriter<K, V> {
  /** What a row takes that does not say how long it is. */
  private static final int TYPICAL_SIZE = 256;

  private final Exchange exchange;
  private final Partitioner partitioner;
  private final long map;
  private final TaskContext task;

  ExchangeWriter(Exchange exchange, Partitioner partitioner, long map, TaskContext task) {
    this.exchange = exchange;
    this.partitioner = partitioner;
    this.map = map;
    this.task = task;
  }

  /** A task that fails ends no lane, so that no reader takes what it has for all there is. */
  @Override
  public void write(Iterator<Product2<K, V>> records) throws IOException {
    try {
      while (records.hasNext()) {
        Product2<K, V> record = records.next();
        put(partitioner.getPartition(record._1()), record._2());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("the task was interrupted");
    }
    for (int i = 0; i < exchange.partitions(); i++) {
      exchange.lane(i).end();
    }
  }

  private void put(int partition, Object row) throws InterruptedException {
    // The task that makes rows uses the memory of one for the next.
    Object own = row instanceof InternalRow made ? made.copy() : row;
    int size = own instanceof UnsafeRow unsafe ? unsafe.getSizeInBytes() : TYPICAL_SIZE;
    exchange.lane(partition).put(own, size, task);
  }

  /** Nobody asks where the rows lie, or how many they are. */
  @Override
  public Option<MapStatus> stop(boolean success) {
    return Option.apply(
        MapStatus.apply(
            SparkEnv.get().blockManager().shuffleServerId(), getPartitionLengths(), map, 0L));
  }

  @Override
  public long[] getPartitionLengths() {
    return new long[exchange.partitions()];
  }
}
