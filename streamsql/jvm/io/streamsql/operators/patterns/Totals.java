package io.streamsql.operators.patterns;

import io.streamsql.operators.aggregates.AggregateBuffers;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/** Aggregates over the rows of variables: of each variable that has some, all of them together. */
public final class Totals implements Serializable {
  private static final long serialVersionUID = 1L;
  private final List<AggregateBuffers> buffers;
  private final int[] variables;

  /**
   * @param buffers of the aggregates of a variable, each
   * @param variables the variables' numbers, -1 for all rows; commas between them
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

  /** How many there are. */
  int size() {
    return variables.length;
  }

  /** The variable whose rows are taken in, or {@link RowPlace#ANY}. */
  int variable(int number) {
    return variables[number];
  }

  /** Whether a row of the variable is taken in. */
  boolean takes(int number, int variable) {
    return variables[number] == RowPlace.ANY || variables[number] == variable;
  }

  /** The buffer that was stored; without one, one that has seen no row. */
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
