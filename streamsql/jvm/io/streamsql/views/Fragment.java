package io.streamsql.views;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.Exchange;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** A plan of Spark's own operators over {@link Leaf leaves}, planned once and run every batch. */
final class Fragment {
  private final SparkPlan plan;

  Fragment(SparkSession planning, Dataset<Row> frame) {
    plan =
        org.apache.spark.sql.classic.Dataset.ofRows(
                planning, ((org.apache.spark.sql.classic.Dataset<Row>) frame).logicalPlan())
            .queryExecution()
            .executedPlan();
  }

  /** The numbers of its leaves, as often as it has each. */
  List<Integer> leaves() {
    List<Integer> numbers = new ArrayList<>();
    for (SparkPlan leaf : CollectionConverters.asJava(plan.collectLeaves())) {
      if (leaf instanceof RDDScanExec scan && scan.rdd() instanceof Leaf rows) {
        numbers.add(rows.number);
      }
    }
    return numbers;
  }

  /** Whether its RDDs serve many batches: no exchange of it depends on the rows of one. */
  boolean isStatic() {
    return !plan.exists(
        node ->
            node instanceof Exchange
                && !(node instanceof ShuffleExchangeExec each && places(each)));
  }

  private static boolean places(ShuffleExchangeExec exchange) {
    return !(exchange.outputPartitioning() instanceof RangePartitioning);
  }

  /** Its rows, where its leaves have these. */
  RDD<InternalRow> rows(IntFunction<RDD<InternalRow>> leaves, Transport transport) {
    SparkPlan filled =
        plan.transformUp(
            new AbstractPartialFunction<>() {
              @Override
              public boolean isDefinedAt(SparkPlan node) {
                return node instanceof ShuffleExchangeExec
                    || node instanceof RDDScanExec scan && scan.rdd() instanceof Leaf;
              }

              @Override
              public SparkPlan apply(SparkPlan node) {
                if (node instanceof ShuffleExchangeExec exchange) {
                  return transport.exchanged(exchange);
                }
                RDDScanExec scan = (RDDScanExec) node;
                return new RDDScanExec(
                    scan.output(),
                    leaves.apply(((Leaf) scan.rdd()).number),
                    scan.name(),
                    scan.outputPartitioning(),
                    scan.outputOrdering(),
                    Option.empty());
              }
            });
    return filled.execute();
  }

  @Override
  public String toString() {
    return plan.toString();
  }
}
