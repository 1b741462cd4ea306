package io.streamsql.views;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.storage.StorageLevel;

/**
 * How a view follows its topics: native fragments and operators with state, made once, from the
 * inputs on. A batch runs all of it over the records that it reads, as one job.
 *
 * <p>It is made of frames. {@link #input} and {@link #operator} give frames for Spark's own
 * operators to be put on; {@link #end} takes the last one.
 */
public final class Dataflow {
  /** Settings of the session that plans fragments. */
  private static final Map<String, String> PLANNING =
      Map.of(
          "spark.sql.adaptive.enabled", "false",
          "spark.sql.autoBroadcastJoinThreshold", "-1",
          "spark.sql.exchange.reuse", "false");

  /** What gives rows: an input if it has a topic, else an operator over a fragment. */
  private record Node(String topic, Fragment fragment, ViewOperator operator, StructType columns) {}

  private final SparkSession session;
  private final SparkSession planning;
  private final int partitions;
  private final List<Node> nodes = new ArrayList<>();
  private final Map<Integer, Integer> uses = new HashMap<>();
  private Fragment end;

  /**
   * @param partitions of the state of each operator
   */
  public Dataflow(SparkSession session, int partitions) {
    this.session = session;
    this.partitions = partitions;
    planning = session.cloneSession();
    PLANNING.forEach((name, value) -> planning.conf().set(name, value));
    planning.conf().set("spark.sql.shuffle.partitions", String.valueOf(partitions));
  }

  /**
   * The records of a topic.
   *
   * @param columns those of Spark's Kafka source (its JSON)
   */
  public Dataset<Row> input(String topic, String columns) {
    return leaf(new Node(topic, null, null, (StructType) DataType.fromJson(columns)));
  }

  /** What the operator makes of rows, which are placed by their first column, and sorted by it. */
  public Dataset<Row> operator(Dataset<Row> rows, ViewOperator operator) {
    return leaf(new Node(null, fragment(rows), operator, operator.results()));
  }

  /** The rows themselves, which several fragments may read, and which are computed once. */
  public Dataset<Row> shared(Dataset<Row> rows) {
    return leaf(new Node(null, fragment(rows), null, rows.schema()));
  }

  /** The rows that a batch is to give. */
  public void end(Dataset<Row> rows) {
    end = fragment(rows);
  }

  private Dataset<Row> leaf(Node node) {
    nodes.add(node);
    boolean placed = node.operator() != null && node.operator().givesKey();
    return Leaf.frame(session, nodes.size() - 1, node.columns(), placed ? partitions : 0);
  }

  private Fragment fragment(Dataset<Row> rows) {
    Fragment fragment = new Fragment(planning, rows);
    fragment.leaves().forEach(number -> uses.merge(number, 1, Integer::sum));
    return fragment;
  }

  /** One batch of the dataflow, whose rows are computed when they are asked for. */
  final class Batch implements AutoCloseable {
    private final Map<String, RDD<InternalRow>> topics;
    private final ViewStores stores;
    private final long number;
    private final Map<Integer, RDD<InternalRow>> made = new HashMap<>();
    private final List<RDD<InternalRow>> kept = new ArrayList<>();

    /**
     * @param topics the records of each topic that has some
     */
    Batch(Map<String, RDD<InternalRow>> topics, ViewStores stores, long number) {
      this.topics = topics;
      this.stores = stores;
      this.number = number;
    }

    RDD<InternalRow> rows() {
      return end.rows(this::rows);
    }

    private RDD<InternalRow> rows(int node) {
      RDD<InternalRow> found = made.get(node);
      if (found == null) {
        found = compute(node);
        if (uses.getOrDefault(node, 0) > 1) {
          found = new CopiedRows(found, nodes.get(node).columns());
          found.persist(StorageLevel.MEMORY_AND_DISK());
          kept.add(found);
        }
        made.put(node, found);
      }
      return found;
    }

    private RDD<InternalRow> compute(int number) {
      Node node = nodes.get(number);
      if (node.topic() != null) {
        RDD<InternalRow> records = topics.get(node.topic());
        return records == null ? session.sparkContext().emptyRDD(OperatorRows.TYPE) : records;
      }
      RDD<InternalRow> rows = node.fragment().rows(this::rows);
      return node.operator() == null
          ? rows
          : new OperatorRows(rows, node.operator(), number, stores, this.number);
    }

    @Override
    public void close() {
      kept.forEach(rows -> rows.unpersist(false));
    }
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < nodes.size(); i++) {
      Node node = nodes.get(i);
      String what =
          node.topic() != null
              ? "topic " + node.topic()
              : node.operator() == null ? "shared" : node.operator().getClass().getSimpleName();
      text.append(i).append(": ").append(what).append('\n');
      if (node.fragment() != null) {
        text.append(node.fragment());
      }
    }
    return text.append("end\n").append(end).toString();
  }
}
