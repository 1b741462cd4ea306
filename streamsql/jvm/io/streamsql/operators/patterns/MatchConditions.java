package io.streamsql.operators.patterns;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The conditions of pattern variables: Spark predicates over a row of structs, which are rows of
 * the match so far and results of aggregates over them. This class finds the structs; it does not
 * know their content.
 */
public final class MatchConditions implements Serializable {
  private static final long serialVersionUID = 1L;
  private final List<Expression> conditions;
  private final List<Attribute> columns;
  private final List<RowPlace> places;
  private final Totals totals;
  private final int[] conditionOf; // by variables; -1: none
  private final int[][] reads; // by conditions: the columns that are read, places first
  private final int width; // of a row of the match
  private transient List<BasePredicate> predicates;
  private transient GenericInternalRow input;
  private transient UnsafeRow[] structs;

  MatchConditions(
      List<Expression> conditions,
      List<Attribute> columns,
      List<RowPlace> places,
      Totals totals,
      int[] conditionOf,
      int[][] reads,
      int width) {
    this.conditions = conditions;
    this.columns = columns;
    this.places = places;
    this.totals = totals;
    this.conditionOf = conditionOf;
    this.reads = reads;
    this.width = width;
  }

  /**
   * The conditions from a frame.
   *
   * @param met a selection of BOOLEANs that are not null, from a frame of structs
   * @param places the rows that are the first of the structs: {@link RowPlace#parse}
   * @param totals the aggregates that are the other structs
   * @param conditionOf of each variable the number of its BOOLEAN, or -1; comma-separated
   * @param reads of each BOOLEAN the numbers of the structs that it reads; separated by `;`
   * @param width the number of a row's columns
   */
  public static MatchConditions of(
      Dataset<Row> met, String places, Totals totals, String conditionOf, String reads, int width) {
    var dataset = (org.apache.spark.sql.classic.Dataset<Row>) met;
    Project node = (Project) ReplaceExpressions.apply(dataset.queryExecution().analyzed());
    List<Expression> conditions = new ArrayList<>();
    for (NamedExpression named : CollectionConverters.asJava(node.projectList())) {
      conditions.add(((Alias) named).child());
    }
    return new MatchConditions(
        conditions,
        new ArrayList<>(CollectionConverters.asJava(node.child().output())),
        RowPlace.parse(places),
        totals,
        Totals.numbers(conditionOf),
        Arrays.stream(reads.split(";", -1)).map(Totals::numbers).toArray(int[][]::new),
        width);
  }

  /** The rows that conditions refer to, apart from the current one. */
  List<RowPlace> places() {
    return places;
  }

  /** Aggregates that conditions refer to. */
  Totals totals() {
    return totals;
  }

  /**
   * The stored aggregates with the current row; null: it does not match its variable.
   *
   * @param labels with the current row's as the last
   * @param before the stored aggregates of the rows before it
   */
  byte[][] taken(MatchRows rows, long start, Labels labels, int variable, byte[][] before) {
    prepare();
    int condition = conditionOf[variable];
    InternalRow[] buffers = new InternalRow[totals.size()];
    if (condition >= 0) {
      for (int column : reads[condition]) {
        byte[] bytes =
            column < places.size()
                ? values(rows, places.get(column).of(labels, start))
                : result(column - places.size(), buffers, rows, start, labels, variable, before);
        fill(column, bytes);
      }
      if (!predicates.get(condition).eval(input)) {
        return null;
      }
    }
    byte[][] after = before;
    for (int i = 0; i < buffers.length; i++) {
      if (totals.takes(i, variable)) {
        after = after == before ? before.clone() : after;
        InternalRow buffer = buffers[i];
        if (buffer == null) {
          buffer = updated(i, rows, start, labels, variable, before);
        }
        after[i] = totals.store(i, buffer);
      }
    }
    return after;
  }

  private static byte[] values(MatchRows rows, long row) {
    return row < rows.first() ? null : rows.values(row);
  }

  private byte[] result(
      int number,
      InternalRow[] buffers,
      MatchRows rows,
      long start,
      Labels labels,
      int variable,
      byte[][] before) {
    buffers[number] = updated(number, rows, start, labels, variable, before);
    return totals.result(number, buffers[number]);
  }

  /** The aggregates with the current row, if they include its variable. */
  private InternalRow updated(
      int number, MatchRows rows, long start, Labels labels, int variable, byte[][] before) {
    InternalRow buffer = totals.load(number, before[number]);
    if (totals.takes(number, variable)) {
      byte[] values = rows.values(start + labels.length() - 1);
      UnsafeRow row = new UnsafeRow(width);
      row.pointTo(values, values.length);
      totals.update(number, buffer, row);
    }
    return buffer;
  }

  private void fill(int column, byte[] bytes) {
    if (bytes == null) {
      input.update(column, null);
      return;
    }
    structs[column].pointTo(bytes, bytes.length);
    input.update(column, structs[column]);
  }

  private void prepare() {
    if (predicates != null) {
      return;
    }
    predicates = new ArrayList<>();
    for (Expression expression : conditions) {
      var seq = CollectionConverters.asScala(columns).toSeq();
      BasePredicate predicate = Predicate$.MODULE$.create(expression, seq);
      predicate.initialize(0);
      predicates.add(predicate);
    }
    input = new GenericInternalRow(columns.size());
    structs = new UnsafeRow[columns.size()];
    for (int i = 0; i < structs.length; i++) {
      structs[i] = new UnsafeRow(((StructType) columns.get(i).dataType()).length());
    }
  }
}
