package io.streamsql.operators.patterns;

import io.streamsql.operators.aggregates.AggregateBuffers;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/** Aggregates over the rows of variables, grouped by variable. */
public final class Totals implements Serializable {
  private static final long serialVersionUID = 1L;
  private final List<AggregateBuffers> buffers;
  private final int[] variables;

  /**
   * @param buffers of the aggregates of a variable, each
   * @param variables the variables' numbers, -1 for all rows; comma-separated
   */
  public Totals(List<AggregateBuffers> buffers, String variables) {
    this.buffers = new ArrayList<>(buffers);
    this.variables = numbers(variables);
  }

  static int[] numbers(String text) {
    return text.isEmpty()
        ? new int[0]
        : Arrays.stream(text.split(",", -1)).mapToInt(Integer::parseInt).toArray();
  }

  /** The number of variables with aggregates. */
  int size() {
    return variables.length;
  }

  /** The variable whose rows are aggregated, or {@link RowPlace#ANY}. */
  int variable(int number) {
    return variables[number];
  }

  /** Whether a row of the variable is aggregated. */
  boolean takes(int number, int variable) {
    return variables[number] == RowPlace.ANY || variables[number] == variable;
  }

  /** The stored buffer, or that of no rows. */
  InternalRow load(int number, byte[] stored) {
    AggregateBuffers own = buffers.get(number);
    return stored == null ? own.create() : own.load(stored);
  }

  void update(int number, InternalRow buffer, InternalRow row) {
    buffers.get(number).update(buffer, row);
  }

  byte[] result(int number, InternalRow buffer) {
    return buffers.get(number).result(buffer);
  }

  byte[] store(int number, InternalRow buffer) {
    return buffers.get(number).store(buffer);
  }
}
