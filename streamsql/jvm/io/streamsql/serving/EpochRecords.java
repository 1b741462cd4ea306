package io.streamsql.serving;

import io.streamsql.queries.PlannedRows;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The records of a view as of an epoch, out of its store, for the Spark job of a query: its tasks
 * run in this JVM. They are kept until it is closed.
 */
public final class EpochRecords extends PlannedRows implements AutoCloseable {
  private static final long serialVersionUID = 1L;
  private static final AtomicInteger NUMBERS = new AtomicInteger();

  /** By number: tasks have copies of the object. */
  private static final Map<Integer, Kept> OPEN = new ConcurrentHashMap<>();

  private static final CaseInsensitiveStringMap OPTIONS =
      new CaseInsensitiveStringMap(Map.of("includeHeaders", "true"));

  /**
   * What the tasks read.
   *
   * @param held keeps the epoch
   */
  private record Kept(TableStore store, UTF8String topic, long epoch, TableStore.Reading held) {}

  private EpochRecords(SparkSession session, int number) {
    super(session, number);
  }

  static EpochRecords open(SparkSession session, TableStore store, UTF8String topic, long epoch) {
    TableStore.Reading held = store.read(epoch);
    if (held == null) {
      throw noLonger(epoch);
    }
    int number = NUMBERS.incrementAndGet();
    OPEN.put(number, new Kept(store, topic, epoch, held));
    return new EpochRecords(session, number);
  }

  private static IllegalStateException noLonger(long epoch) {
    return new IllegalStateException("the rows of epoch " + epoch + " are no longer kept");
  }

  /** The records in the columns of Spark's Kafka source. */
  public Dataset<Row> frame(SparkSession session) {
    return frame(session, new KafkaSourceProvider().inferSchema(OPTIONS), 1);
  }

  @Override
  public Iterator<InternalRow> compute(Partition split, TaskContext task) {
    Kept kept = OPEN.get(number);
    TableStore.Reading reading = kept == null ? null : kept.store.read(kept.epoch);
    if (reading == null) {
      throw noLonger(kept == null ? -1 : kept.epoch);
    }
    TaskCompletionListener ends = ended -> reading.close();
    task.addTaskCompletionListener(ends);
    return CollectionConverters.asScala(new StoredRows(reading, kept.topic, null, null));
  }

  @Override
  public void close() {
    Kept kept = OPEN.remove(number);
    if (kept != null) {
      kept.held.close();
    }
  }
}
