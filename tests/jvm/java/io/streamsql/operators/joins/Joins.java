package io.streamsql.operators.joins;

import static io.streamsql.operators.OneKey.bytes;
import static io.streamsql.operators.OneKey.text;

import io.streamsql.operators.KeyedRow;
import io.streamsql.operators.OneKey;
import java.util.List;

/** Rows of joins whose columns are texts, and results as texts. */
final class Joins {
  private Joins() {}

  static KeyedRow left(long time, String row) {
    return OneKey.row(0, 0, time, time, bytes(row));
  }

  static KeyedRow right(long time, String row) {
    return OneKey.row(1, 0, time, time, bytes(row));
  }

  /** `left+right@time`, a side that is not there as null. */
  static List<String> shown(List<JoinedRow> results) {
    return results.stream()
        .map(r -> text(r.getLeft()) + "+" + text(r.getRight()) + "@" + r.getTime())
        .toList();
  }
}
