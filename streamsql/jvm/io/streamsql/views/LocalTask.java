package io.streamsql.views;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

/** Work that Spark runs as a job of one task, and that is not serialized: Spark runs in here. */
final class LocalTask extends RDD<Object> {
  private static final long serialVersionUID = 1L;
  private static final AtomicLong COUNT = new AtomicLong();
  private static final Map<Long, Consumer<TaskContext>> WAITING = new ConcurrentHashMap<>();
  private final long number;

  private LocalTask(SparkContext context, long number) {
    super(
        context,
        CollectionConverters.asScala(List.<org.apache.spark.Dependency<?>>of()).toSeq(),
        ClassTag$.MODULE$.Object());
    this.number = number;
  }

  /** Runs the work, and returns when it has ended. */
  static void run(SparkContext context, Consumer<TaskContext> work) {
    long number = COUNT.incrementAndGet();
    WAITING.put(number, work);
    try {
      new LocalTask(context, number).toJavaRDD().foreachPartition(LocalTask::drain);
    } finally {
      WAITING.remove(number);
    }
  }

  private static void drain(java.util.Iterator<Object> rows) {
    rows.forEachRemaining(row -> {});
  }

  @Override
  public Iterator<Object> compute(Partition split, TaskContext context) {
    WAITING.get(number).accept(context);
    return CollectionConverters.asScala(List.<Object>of().iterator());
  }

  @Override
  public Partition[] getPartitions() {
    return Numbered.upTo(1);
  }
}
