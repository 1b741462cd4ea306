package io.streamsql.views;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Changes of the rows of two sides (row BINARY, side INT, weight BIGINT) as changes (weight, row)
 * of what depends on how often each row is in either.
 */
public final class RowCounts extends ViewOperator {
  private static final long serialVersionUID = 1L;

  /** How often a row is in the result. */
  public enum Rule {
    DISTINCT {
      @Override
      long of(long left, long right) {
        return left > 0 ? 1 : 0;
      }
    },
    INTERSECT {
      @Override
      long of(long left, long right) {
        return left > 0 && right > 0 ? 1 : 0;
      }
    },
    INTERSECT_ALL {
      @Override
      long of(long left, long right) {
        return Math.min(left, right);
      }
    },
    EXCEPT {
      @Override
      long of(long left, long right) {
        return left > 0 && right == 0 ? 1 : 0;
      }
    },
    EXCEPT_ALL {
      @Override
      long of(long left, long right) {
        return Math.max(left - right, 0);
      }
    },
    SEMI {
      @Override
      long of(long left, long right) {
        return right > 0 ? left : 0;
      }
    },
    ANTI {
      @Override
      long of(long left, long right) {
        return right > 0 ? 0 : left;
      }
    };

    abstract long of(long left, long right);
  }

  private final Rule rule;

  public RowCounts(String rule) {
    this.rule = Rule.valueOf(rule);
  }

  @Override
  StructType results() {
    return WEIGHTED;
  }

  @Override
  Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store) {
    byte[] counts = store.before(key, ONLY);
    long left = counts == null ? 0 : ByteBuffer.wrap(counts).getLong();
    long right = counts == null ? 0 : ByteBuffer.wrap(counts).getLong(Long.BYTES);
    long before = rule.of(left, right);
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      if (row.getInt(1) == 0) {
        left += row.getLong(2);
      } else {
        right += row.getLong(2);
      }
    }
    if (left == 0 && right == 0) {
      store.remove(key, ONLY);
    } else {
      byte[] sums = ByteBuffer.allocate(2 * Long.BYTES).putLong(left).putLong(right).array();
      store.put(key, ONLY, sums);
    }
    long weight = rule.of(left, right) - before;
    if (weight == 0) {
      return Collections.emptyIterator();
    }
    return new Results(2).rows(Collections.singletonList(new Object[] {weight, key}));
  }
}
