package io.streamsql.serving;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskContextImpl$;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Option;
import scala.collection.Iterator;

/**
 * One run of a plan that sorts, groups or joins. It provides what these operators need of a Spark
 * task: memory, which is counted with that of all tasks, and spills. Several threads may take its
 * results, one after another.
 */
final class PlanRun implements AutoCloseable {
  /** Below all numbers that Spark gives to its tasks. */
  private static final AtomicLong TASKS = new AtomicLong(Long.MIN_VALUE);

  private final CompiledPlan plan;
  private final List<Iterable<InternalRow>> inputs;
  private final TaskMemoryManager memory;
  private final TaskContextImpl task;
  private final Iterator<InternalRow> results;
  private boolean closed;

  PlanRun(CompiledPlan plan, List<Iterable<InternalRow>> inputs) {
    this.plan = plan;
    this.inputs = inputs;
    SparkEnv env = SparkEnv.get();
    long number = TASKS.getAndIncrement();
    memory = new TaskMemoryManager(env.memoryManager(), number);
    TaskContextImpl$ defaults = TaskContextImpl$.MODULE$;
    task =
        new TaskContextImpl(
            0,
            0,
            0,
            number,
            0,
            1,
            memory,
            plan.settings(),
            env.metricsSystem(),
            defaults.$lessinit$greater$default$10(),
            defaults.$lessinit$greater$default$11(),
            defaults.$lessinit$greater$default$12());
    try {
      results = within(() -> plan.results(task));
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  /** Whether there is another result. */
  boolean hasNext() {
    return results.hasNext();
  }

  /** The next result, valid until the one after it. */
  InternalRow next() {
    return results.next();
  }

  /** Runs a part of the work as the task on this thread; hasNext() and next() need it. */
  <T> T within(Supplier<T> work) {
    TaskContext before = TaskContext.get();
    TaskContext$.MODULE$.setTaskContext(task);
    try {
      return CompiledPlan.within(inputs, work);
    } finally {
      if (before == null) {
        TaskContext$.MODULE$.unset();
      } else {
        TaskContext$.MODULE$.setTaskContext(before);
      }
    }
  }

  /** Frees all that the run holds. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      try {
        within(
            () -> {
              task.markTaskCompleted(Option.empty());
              return null;
            });
      } finally {
        memory.cleanUpAllAllocatedMemory();
        plan.release();
      }
    }
  }
}
