package io.streamsql.serving;

import java.util.Collections;
import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * A frame over records, planned and compiled once, then run on the caller's thread over whatever
 * records it is given: a Spark query without a Spark job. It may be run by several threads at a
 * time.
 *
 * <p>Only for frames without a shuffle and without Python functions: those need a job.
 */
public final class CompiledPlan {
  private static final ThreadLocal<Iterator<InternalRow>> INPUT = new ThreadLocal<>();

  private final RDD<InternalRow> rows;

  /** The one whose rows are the input's; null: Spark knows that no row can be a result. */
  private final Partition partition;

  private CompiledPlan(RDD<InternalRow> rows) {
    this.rows = rows;
    this.partition = rows.partitions().length == 0 ? null : rows.partitions()[0];
  }

  /** A frame of the columns of the schema (Spark's JSON) for programs to be made of. */
  public static Dataset<Row> source(SparkSession session, String schema) {
    RDD<InternalRow> source = new Source(session.sparkContext());
    return session.internalCreateDataFrame(source, (StructType) StructType.fromJson(schema), false);
  }

  /**
   * The program of a frame that was made of a {@link #source}.
   *
   * @throws IllegalArgumentException for one that needs a job
   */
  public static CompiledPlan of(Dataset<Row> frame) {
    var execution = ((org.apache.spark.sql.classic.Dataset<Row>) frame).queryExecution();
    String plan = execution.executedPlan().toString();
    if (plan.contains("Exchange") || plan.contains("EvalPython")) {
      throw new IllegalArgumentException("the frame needs a Spark job");
    }
    RDD<InternalRow> rows = execution.executedPlan().execute();
    if (rows.partitions().length > 1) {
      throw new IllegalArgumentException("the frame has several partitions");
    }
    return new CompiledPlan(rows);
  }

  /**
   * The results for the input, made one by one as they are asked for; each is valid until the next.
   */
  java.util.Iterator<InternalRow> run(java.util.Iterator<InternalRow> input) {
    if (partition == null) {
      return Collections.emptyIterator();
    }
    Iterator<InternalRow> before = INPUT.get();
    INPUT.set(CollectionConverters.asScala(input));
    try {
      return CollectionConverters.asJava(rows.iterator(partition, TaskContext$.MODULE$.empty()));
    } finally {
      INPUT.set(before);
    }
  }

  /** One partition whose rows are those of the run that is being begun on this thread. */
  private static final class Source extends RDD<InternalRow> {
    private static final long serialVersionUID = 1L;
    private static final ClassTag<InternalRow> TYPE = ClassTag$.MODULE$.apply(InternalRow.class);

    Source(SparkContext context) {
      super(
          context,
          CollectionConverters.asScala(List.<org.apache.spark.Dependency<?>>of()).toSeq(),
          TYPE);
    }

    @Override
    public Iterator<InternalRow> compute(Partition split, TaskContext context) {
      return INPUT.get();
    }

    @Override
    public Partition[] getPartitions() {
      return new Partition[] {new Only()};
    }
  }

  private static final class Only implements Partition {
    private static final long serialVersionUID = 1L;

    @Override
    public int index() {
      return 0;
    }
  }
}
