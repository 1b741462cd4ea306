package io.streamsql.views;

import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/** Work that Spark runs as a job of one task, and that is not serialized: Spark runs in here. */
final class LocalTask extends RootRows<Object> {
  private static final long serialVersionUID = 1L;
  private static final AtomicLong COUNT = new AtomicLong();
  private static final Map<Long, Consumer<TaskContext>> WAITING = new ConcurrentHashMap<>();

  /**
   * Spark writes the code of each projection and ordering again, only to find that it is compiled:
   * half of the time of a small batch. Fragments remain compiled.
   */
  private static final String EXPRESSIONS = "spark.sql.codegen.factoryMode";

  private final long number;

  private LocalTask(SparkContext context, long number) {
    super(context, 1, ClassTag$.MODULE$.Object());
    this.number = number;
  }

  /**
   * Runs the work, and returns when it has ended.
   *
   * <p>{@code SparkContext.runJob} would read the byte code of the function before each job, to
   * remove what it need not capture: a third of the driver's time for a small batch.
   */
  static void run(SparkContext context, Consumer<TaskContext> work) {
    long number = COUNT.incrementAndGet();
    WAITING.put(number, work);
    String before = context.getLocalProperty(EXPRESSIONS);
    context.setLocalProperty(EXPRESSIONS, "NO_CODEGEN");
    try {
      context
          .dagScheduler()
          .runJob(
              new LocalTask(context, number),
              new Drain(),
              CollectionConverters.asScala(List.<Object>of(0)).toSeq(),
              context.getCallSite(),
              new Ignore(),
              context.getLocalProperties());
    } finally {
      context.setLocalProperty(EXPRESSIONS, before);
      WAITING.remove(number);
    }
  }

  private static final class Drain
      extends AbstractFunction2<TaskContext, Iterator<Object>, BoxedUnit> implements Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public BoxedUnit apply(TaskContext task, Iterator<Object> none) {
      return none.hasNext() ? null : BoxedUnit.UNIT;
    }
  }

  private static final class Ignore extends AbstractFunction2<Object, BoxedUnit, BoxedUnit> {
    @Override
    public BoxedUnit apply(Object part, BoxedUnit result) {
      return BoxedUnit.UNIT;
    }
  }

  @Override
  public Iterator<Object> compute(Partition split, TaskContext context) {
    WAITING.get(number).accept(context);
    return CollectionConverters.asScala(List.<Object>of().iterator());
  }
}
