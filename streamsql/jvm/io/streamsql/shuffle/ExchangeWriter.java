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

/** Writes a task's rows into the queues of a shuffle. */
final class ExchangeWriter<K, V> extends ShuffleWriter<K, V> {
  /** The size of a row that does not report its own. */
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

  /** A failed task ends no queue, so that no reader takes its rows for complete. */
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
      exchange.queue(i).end();
    }
  }

  private void put(int partition, Object row) throws InterruptedException {
    // The producing task reuses the memory of a row for the next.
    Object own = row instanceof InternalRow made ? made.copy() : row;
    int size = own instanceof UnsafeRow unsafe ? unsafe.getSizeInBytes() : TYPICAL_SIZE;
    exchange.queue(partition).put(own, size, task);
  }

  /** Spark does not read the location or the number of the rows. */
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
