package io.streamsql.iceberg;

import java.util.List;

/**
 * What is read of a table.
 *
 * @param problem why it cannot be read; empty if it can
 * @param snapshot the number of the snapshot; negative: the table has none
 * @param table Iceberg's table, serialized
 * @param tasks Iceberg's tasks, serialized: together they read each row once
 */
public record LakePlan(String problem, long snapshot, String table, List<String> tasks) {
  public LakePlan {
    tasks = List.copyOf(tasks);
  }

  public static LakePlan impossible(String problem) {
    return new LakePlan(problem, -1, "", List.of());
  }

  /** Without the table, which knows how to log in to its catalog. */
  @Override
  public String toString() {
    return "LakePlan[problem=" + problem + ", snapshot=" + snapshot + "]";
  }
}
