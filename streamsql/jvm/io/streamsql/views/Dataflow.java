package io.streamsql.views;

import io.streamsql.queries.Sessions;
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
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

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

  /** What gives rows: a topic, the clock, or a fragment and perhaps an operator over it. */
  private record Node(String topic, Fragment fragment, ViewOperator operator, StructType columns) {
    boolean isTopic() {
      return topic != null;
    }

    boolean isClock() {
      return topic == null && fragment == null;
    }
  }

  private final SparkSession session;
  private final SparkSession planning;
  private final int partitions;
  private final List<Node> nodes = new ArrayList<>();
  private final Map<Integer, Integer> uses = new HashMap<>();
  private Fragment end;
  private boolean isStatic;

  /**
   * @param partitions of the state of each operator
   */
  public Dataflow(SparkSession session, int partitions) {
    this.session = session;
    this.partitions = partitions;
    planning = Sessions.copy(session, PLANNING);
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

  /** One row in each batch: its time as {@code moment}, in microseconds since the epoch. */
  public Dataset<Row> clock() {
    StructType columns = ViewOperator.columns("moment", DataTypes.LongType);
    return leaf(new Node(null, null, null, columns));
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
    isStatic =
        end.isStatic()
            && nodes.stream().allMatch(n -> n.fragment() == null || n.fragment().isStatic());
  }

  private Dataset<Row> leaf(Node node) {
    nodes.add(node);
    boolean placed = node.operator() != null && node.operator().givesKey();
    Leaf leaf = new Leaf(session, nodes.size() - 1);
    return leaf.frame(session, node.columns(), placed ? partitions : 0);
  }

  private Fragment fragment(Dataset<Row> rows) {
    Fragment fragment = new Fragment(planning, rows);
    fragment.leaves().forEach(number -> uses.merge(number, 1, Integer::sum));
    return fragment;
  }

  SparkSession session() {
    return session;
  }

  /** The rows of its end. */
  RDD<InternalRow> rows(Transport transport, ViewStores stores) {
    return new Computation(transport, stores).rows(end);
  }

  /** Whether no exchange of it does more than place rows, so that its RDDs serve many batches. */
  boolean isStatic() {
    return isStatic;
  }

  /** Makes RDDs of fragments and operators, one for each node. */
  private final class Computation {
    private final Transport transport;
    private final ViewStores stores;
    private final Map<Integer, RDD<InternalRow>> made = new HashMap<>();

    Computation(Transport transport, ViewStores stores) {
      this.transport = transport;
      this.stores = stores;
    }

    RDD<InternalRow> rows(Fragment fragment) {
      return fragment.rows(this::rows, transport);
    }

    private RDD<InternalRow> rows(int number) {
      RDD<InternalRow> found = made.get(number);
      if (found == null) {
        found = compute(number);
        if (uses.getOrDefault(number, 0) > 1) {
          found = transport.shared(found, nodes.get(number).columns());
        }
        made.put(number, found);
      }
      return found;
    }

    private RDD<InternalRow> compute(int number) {
      Node node = nodes.get(number);
      if (node.isTopic()) {
        return transport.records(node.topic(), node.columns());
      }
      if (node.isClock()) {
        return new ClockRows(session.sparkContext(), transport.batch());
      }
      RDD<InternalRow> rows = rows(node.fragment());
      return node.operator() == null
          ? rows
          : new OperatorRows(rows, node.operator(), number, stores, transport.batch());
    }
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < nodes.size(); i++) {
      Node node = nodes.get(i);
      String what =
          node.isTopic()
              ? "topic " + node.topic()
              : node.isClock()
                  ? "clock"
                  : node.operator() == null ? "shared" : node.operator().getClass().getSimpleName();
      text.append(i).append(": ").append(what).append('\n');
      if (node.fragment() != null) {
        text.append(node.fragment());
      }
    }
    return text.append("end\n").append(end).toString();
  }
}
