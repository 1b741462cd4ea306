package io.streamsql.runs;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;

/**
 * One run of a query in the driver's JVM, from its first source to its end in Spark. It owns what
 * the threads and tasks of the run share. Two runs share nothing, even with the same query.
 */
public final class QueryRun {
  /** What Spark calls the run, in the properties of its thread and its tasks. */
  public static final String ID = "spark.jobGroup.id";

  /** The one registry of runs: a task reaches its run by the id alone. */
  private static final Map<String, QueryRun> OPEN = new ConcurrentHashMap<>();

  /** What a run owns. */
  public interface Part {
    /** The run has ended. */
    default void close() {}
  }

  private final String query;
  private final Map<Class<?>, Part> owned = new ConcurrentHashMap<>();

  private QueryRun(String query) {
    this.query = query;
  }

  /** Opens the run that the calling thread of Spark starts, or gives it if it is open. */
  public static QueryRun open(SparkContext spark, String query) {
    return open(spark.getLocalProperty(ID), query);
  }

  /** The same, by the id of the run. */
  public static QueryRun open(String id, String query) {
    // Without an id it is no run of Spark's: nothing shares it.
    return id == null ? new QueryRun(query) : OPEN.computeIfAbsent(id, any -> new QueryRun(query));
  }

  /** The open run of an id; null: it has ended, or its driver is another JVM. */
  public static QueryRun find(String id) {
    return id == null ? null : OPEN.get(id);
  }

  /** The open run of the calling task, or null. */
  public static QueryRun current() {
    TaskContext task = TaskContext.get();
    return task == null ? null : find(task.getLocalProperty(ID));
  }

  public static Collection<QueryRun> all() {
    return List.copyOf(OPEN.values());
  }

  /** A run has ended: what it owns is closed. */
  public static void close(String id) {
    QueryRun run = OPEN.remove(id);
    if (run != null) {
      run.owned.values().forEach(Part::close);
    }
  }

  /** All runs of a query have ended. */
  public static void closeAll(String query) {
    OPEN.forEach(
        (id, run) -> {
          if (run.query.equals(query)) {
            close(id);
          }
        });
  }

  public String query() {
    return query;
  }

  /**
   * The run's object of a class, made when it is first asked for. Its maker may ask the run for
   * objects of other classes.
   */
  public <T extends Part> T own(Class<T> type, Supplier<T> make) {
    Part known = owned.get(type);
    return type.cast(known == null ? added(type, make) : known);
  }

  /** Under a lock, since {@code computeIfAbsent} allows no nested additions to the same map. */
  private synchronized Part added(Class<?> type, Supplier<? extends Part> make) {
    Part known = owned.get(type);
    if (known == null) {
      known = make.get();
      owned.put(type, known);
    }
    return known;
  }

  /** The run's object of a class; null: there is none. */
  public <T extends Part> T get(Class<T> type) {
    return type.cast(owned.get(type));
  }
}
