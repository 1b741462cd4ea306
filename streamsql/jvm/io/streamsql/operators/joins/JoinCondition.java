package io.streamsql.operators.joins;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.jdk.javaapi.CollectionConverters;

/** The further condition of a join, for two rows with equal keys. */
public final class JoinCondition implements Serializable {
  private static final long serialVersionUID = 1L;
  private final Expression condition;
  private final List<Attribute> columns;
  private final int left;
  private final int right;
  private transient BasePredicate predicate;
  private transient UnsafeRow leftRow;
  private transient UnsafeRow rightRow;
  private transient JoinedRow both;

  private JoinCondition(Expression condition, List<Attribute> columns, int left, int right) {
    this.condition = condition;
    this.columns = columns;
    this.left = left;
    this.right = right;
  }

  /**
   * The only column of a selection from both rows' columns, a BOOLEAN that is not null.
   *
   * @param left,right the number of columns of each side's packed rows
   */
  public static JoinCondition of(Dataset<Row> met, int left, int right) {
    var dataset = (org.apache.spark.sql.classic.Dataset<Row>) met;
    Project node = (Project) ReplaceExpressions.apply(dataset.queryExecution().analyzed());
    Expression condition = ((Alias) node.projectList().head()).child();
    List<Attribute> columns = List.copyOf(CollectionConverters.asJava(node.child().output()));
    return new JoinCondition(condition, columns, left, right);
  }

  /** Whether the two rows meet the condition. */
  boolean met(byte[] leftBytes, byte[] rightBytes) {
    if (predicate == null) {
      predicate =
          Predicate$.MODULE$.create(condition, CollectionConverters.asScala(columns).toSeq());
      predicate.initialize(0);
      leftRow = new UnsafeRow(left);
      rightRow = new UnsafeRow(right);
      both = new JoinedRow(leftRow, rightRow);
    }
    leftRow.pointTo(leftBytes, leftBytes.length);
    rightRow.pointTo(rightBytes, rightBytes.length);
    return predicate.eval(both);
  }
}
