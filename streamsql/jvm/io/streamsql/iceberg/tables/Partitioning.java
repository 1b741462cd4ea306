package io.streamsql.iceberg.tables;

import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;

/** How a table is partitioned. */
final class Partitioning {
  private Partitioning() {}

  /**
   * @param transforms such as {@code day 0 ts} and {@code bucket 16 id}
   * @param names of columns in the schema
   */
  static PartitionSpec of(List<String> transforms, Schema schema, UnaryOperator<String> names) {
    PartitionSpec.Builder spec = PartitionSpec.builderFor(schema);
    for (String transform : transforms) {
      String[] parts = transform.split(" ", 3);
      int width = Integer.parseInt(parts[1]);
      String column = names.apply(parts[2]);
      switch (parts[0]) {
        case "identity" -> spec.identity(column);
        case "year" -> spec.year(column);
        case "month" -> spec.month(column);
        case "day" -> spec.day(column);
        case "hour" -> spec.hour(column);
        case "bucket" -> spec.bucket(column, width);
        case "truncate" -> spec.truncate(column, width);
        default -> throw new IllegalArgumentException("no transform: " + transform);
      }
    }
    return spec.build();
  }

  /** Whether they have the same partitions; the names of fields are those of former columns. */
  static boolean same(PartitionSpec one, PartitionSpec other) {
    return values(one).equals(values(other));
  }

  private static List<String> values(PartitionSpec spec) {
    return spec.fields().stream()
        .filter(field -> !field.transform().isVoid())
        .map(field -> field.transform() + " " + field.sourceId())
        .toList();
  }

  /** The names of the columns that it depends on. */
  static List<String> columns(PartitionSpec spec) {
    return spec.fields().stream()
        .filter(field -> !field.transform().isVoid())
        .map(field -> spec.schema().findColumnName(field.sourceId()))
        .toList();
  }

  static String text(PartitionSpec spec) {
    String found =
        spec.fields().stream().map(field -> text(field, spec)).collect(Collectors.joining(", "));
    return found.isEmpty() ? "nothing" : found;
  }

  private static String text(PartitionField field, PartitionSpec spec) {
    return field.transform() + "(" + spec.schema().findColumnName(field.sourceId()) + ")";
  }
}
