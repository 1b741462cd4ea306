package io.streamsql.views;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

/** Rows of results, made one at a time in the same memory. */
final class Results {
  private final UnsafeRowWriter writer;

  Results(int columns) {
    writer = new UnsafeRowWriter(columns);
  }

  /** A row of these values: byte[], Long, Boolean or null. */
  InternalRow row(Object... values) {
    writer.reset();
    writer.zeroOutNullBytes();
    for (int i = 0; i < values.length; i++) {
      if (values[i] == null) {
        writer.setNullAt(i);
      } else if (values[i] instanceof byte[] bytes) {
        writer.write(i, bytes);
      } else if (values[i] instanceof Long number) {
        writer.write(i, number.longValue());
      } else {
        writer.write(i, ((Boolean) values[i]).booleanValue());
      }
    }
    return writer.getRow();
  }

  Iterator<InternalRow> rows(List<Object[]> values) {
    return Iterators.transform(values.iterator(), this::row);
  }
}
