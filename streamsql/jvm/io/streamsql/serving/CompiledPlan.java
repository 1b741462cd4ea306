package io.streamsql.serving;

import io.streamsql.queries.PlannedRows;
import io.streamsql.queries.Sessions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.WeakHashMap;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.ExpandExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.joins.CartesianProductExec;
import org.apache.spark.sql.execution.joins.ShuffledJoin;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * A frame over records, planned and compiled once, then run on the caller's thread over given
 * records: a Spark query without a Spark job. Thread-safe.
 *
 * <p>Only for frames without a shuffle and without Python functions: those need a job.
 */
public final class CompiledPlan implements UnaryOperator<java.util.Iterator<InternalRow>> {
  /** The rows of each source, by number, of the run in this thread; a plan may read them again. */
  private static final ThreadLocal<List<Iterable<InternalRow>>> INPUTS = new ThreadLocal<>();

  /** Settings of the session that plans: one partition needs no shuffle, and so no job. */
  private static final Map<String, String> PLANNING =
      Map.of(
          "spark.sql.adaptive.enabled",
          "false",
          "spark.sql.autoBroadcastJoinThreshold",
          "-1",
          "spark.sql.optimizeNullAwareAntiJoin",
          "false",
          // Spark shuffles what it takes to be more.
          "spark.sql.maxSinglePartitionBytes",
          Long.MAX_VALUE + "b",
          // A local relation has a partition for each row, or none; merged aggregates are a
          // subquery, which takes a job.
          "spark.sql.optimizer.excludedRules",
          Stream.of(
                  "catalyst.optimizer.ConvertToLocalRelation",
                  "catalyst.optimizer.PropagateEmptyRelation",
                  "catalyst.optimizer.PruneFilters",
                  "execution.planmerging.MergeSubplans")
              .map(rule -> "org.apache.spark.sql." + rule)
              .collect(Collectors.joining(",")));

  /** The same where expressions are interpreted. */
  private static final Map<String, String> INTERPRETING =
      Map.of("spark.sql.codegen.wholeStage", "false");

  private static final Map<SparkSession, SparkSession> SESSIONS = new WeakHashMap<>();
  private static final Map<SparkSession, SparkSession> INTERPRETING_SESSIONS = new WeakHashMap<>();

  private final RDD<InternalRow> rows;

  /** Its rows are the input's; null: Spark has proved that the result is empty. */
  private final Partition partition;

  private final boolean interpreted;

  /** Each keeps the memory of its last run. */
  private final List<SortExec> sorts;

  private CompiledPlan(SparkPlan plan, RDD<InternalRow> rows, boolean interpreted) {
    this.rows = rows;
    this.interpreted = interpreted;
    this.sorts = sorts(plan);
    this.partition = rows.partitions().length == 0 ? null : rows.partitions()[0];
  }

  /**
   * A frame with the columns of the schema (Spark's JSON), from which programs are made. It
   * declares a single partition, so no operator above it needs a shuffle.
   *
   * @param number of the source among those of its program, from 0
   */
  public static Dataset<Row> source(SparkSession session, String schema, int number) {
    StructType columns = (StructType) StructType.fromJson(schema);
    return new Source(session, number).frame(session, columns, 1);
  }

  /**
   * The program of a frame that was made from a {@link #source}.
   *
   * @param interpreted whether its expressions are interpreted, in each {@link PlanRun}: to compile
   *     them takes longer than to evaluate them for some thousand rows
   * @throws IllegalArgumentException if the frame needs a job
   */
  public static CompiledPlan of(Dataset<Row> frame, boolean interpreted) {
    var given = (org.apache.spark.sql.classic.Dataset<Row>) frame;
    SparkSession session = planning(given.sparkSession(), interpreted);
    QueryExecution execution =
        session == given.sparkSession()
            ? given.queryExecution()
            : org.apache.spark.sql.classic.Dataset.ofRows(session, given.logicalPlan())
                .queryExecution();
    SparkPlan plan =
        session.withActive(
            () ->
                QueryExecution.prepareExecutedPlan(session, inOnePartition(execution.sparkPlan())));
    String text = plan.toString();
    if (text.contains("Exchange") || text.contains("EvalPython")) {
      throw new IllegalArgumentException("the frame needs a Spark job: " + text);
    }
    RDD<InternalRow> rows = plan.execute();
    if (rows.partitions().length > 1) {
      throw new IllegalArgumentException("the frame has several partitions");
    }
    return new CompiledPlan(plan, rows, interpreted);
  }

  /**
   * The plan in which operators say that their rows are in one partition, as their inputs are. Of a
   * join Spark knows it from both sides, and shuffles it for a join above.
   */
  private static SparkPlan inOnePartition(SparkPlan plan) {
    return plan.transformUp(
        new AbstractPartialFunction<SparkPlan, SparkPlan>() {
          @Override
          public boolean isDefinedAt(SparkPlan node) {
            return node instanceof UnionExec
                || node instanceof ExpandExec
                || node instanceof CartesianProductExec
                || node instanceof ShuffledJoin;
          }

          @Override
          public SparkPlan apply(SparkPlan node) {
            return new CoalesceExec(1, node);
          }
        });
  }

  /** The session in which programs are planned: a copy of the given one, made once. */
  private static synchronized SparkSession planning(SparkSession session, boolean interpreted) {
    SparkSession plans = SESSIONS.computeIfAbsent(session, of -> Sessions.copy(of, PLANNING));
    return !interpreted || plans == session
        ? plans
        : INTERPRETING_SESSIONS.computeIfAbsent(session, of -> Sessions.copy(plans, INTERPRETING));
  }

  /** A copy of a session for frames that become programs, with further settings. */
  static synchronized SparkSession session(SparkSession given, Map<String, String> more) {
    SparkSession copy = Sessions.copy(Sessions.copy(given, PLANNING), more);
    SESSIONS.put(copy, copy);
    return copy;
  }

  /** The row without columns that a SELECT without FROM reads, as a frame of a program. */
  public static Dataset<Row> oneRow(SparkSession session) {
    return new OneRow(session).frame(session, new StructType(), 1);
  }

  /** The results for the input, computed lazily; each is valid until the next. */
  @Override
  public java.util.Iterator<InternalRow> apply(java.util.Iterator<InternalRow> input) {
    return CollectionConverters.asJava(
        within(List.of(() -> input), () -> results(TaskContext$.MODULE$.empty())));
  }

  /** The results for the inputs of this thread's run, see {@link #within}. */
  Iterator<InternalRow> results(TaskContext task) {
    if (partition == null) {
      return CollectionConverters.asScala(Collections.emptyIterator());
    }
    return rows.iterator(partition, task);
  }

  /**
   * Releases the memory of a run that has ended: a sort holds a page of 1 MB until its next one.
   */
  void release() {
    sorts.forEach(sort -> sort.rowSorter_$eq(null));
  }

  private static List<SortExec> sorts(SparkPlan plan) {
    List<SortExec> found = new ArrayList<>();
    plan.foreach(
        node -> {
          if (node instanceof SortExec sort) {
            found.add(sort);
          }
          return BoxedUnit.UNIT;
        });
    return found;
  }

  /** The settings of a task that runs it. */
  Properties settings() {
    Properties settings = new Properties();
    if (interpreted) {
      settings.setProperty("spark.sql.codegen.factoryMode", "NO_CODEGEN");
    }
    return settings;
  }

  /** Does a part of the work of a run with these inputs. */
  static <T> T within(List<Iterable<InternalRow>> inputs, Supplier<T> work) {
    List<Iterable<InternalRow>> before = INPUTS.get();
    INPUTS.set(inputs);
    try {
      return work.get();
    } finally {
      INPUTS.set(before);
    }
  }

  private static final class OneRow extends PlannedRows {
    private static final long serialVersionUID = 1L;

    OneRow(SparkSession session) {
      super(session, 0);
    }

    @Override
    public Iterator<InternalRow> compute(Partition split, TaskContext context) {
      return CollectionConverters.asScala(List.of(InternalRow.empty()).iterator());
    }
  }

  /** One partition, whose rows are those of this thread's run. */
  private static final class Source extends PlannedRows {
    private static final long serialVersionUID = 1L;

    Source(SparkSession session, int number) {
      super(session, number);
    }

    @Override
    public Iterator<InternalRow> compute(Partition split, TaskContext context) {
      return CollectionConverters.asScala(INPUTS.get().get(number).iterator());
    }
  }
}
