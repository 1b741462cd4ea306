package io.streamsql.views;

import io.streamsql.views.Weights.Weighted;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Changes of two sides (key BINARY, side INT, weight BIGINT, row BINARY) as changes of their join
 * on the key: (weight, left, right), where a side that a result lacks is null.
 */
public final class DeltaJoin extends SidesOfKeys {
  private static final long serialVersionUID = 1L;

  /** Which rows a join gives. */
  public enum Kind {
    INNER,
    LEFT,
    FULL,
    SEMI,
    ANTI
  }

  private final Kind kind;

  public DeltaJoin(String kind) {
    this.kind = Kind.valueOf(kind);
  }

  @Override
  Iterator<InternalRow> changes(
      byte[] key, List<Weighted> ofLeft, List<Weighted> ofRight, ViewStore store) {
    Side left = new Side(store, prefixed(0, key), ofLeft);
    Side right = new Side(store, prefixed(1, key), ofRight);
    if (left.changes.isEmpty() && right.changes.isEmpty()) {
      return Collections.emptyIterator();
    }
    boolean pairs = kind != Kind.SEMI && kind != Kind.ANTI;
    left.look(kind == Kind.FULL, kind != Kind.INNER && !right.changes.isEmpty());
    right.look(kind != Kind.INNER, (pairs || kind == Kind.FULL) && !left.changes.isEmpty());
    left.apply(kind == Kind.FULL);
    right.apply(kind != Kind.INNER);
    Results results = new Results(3);
    List<Iterator<InternalRow>> found = new ArrayList<>();
    if (pairs && !left.changes.isEmpty()) {
      found.add(new Pairs(results, left.changes, right.before));
    }
    if (pairs && !right.changes.isEmpty()) {
      found.add(new Pairs(results, left.after(), right.changes));
    }
    if (kind == Kind.SEMI) {
      found.add(alone(results, present(left, right), true));
    } else if (kind != Kind.INNER) {
      found.add(alone(results, absent(left, right), true));
    }
    if (kind == Kind.FULL) {
      found.add(alone(results, absent(right, left), false));
    }
    return Iterators.concat(found.iterator());
  }

  /** How the rows of a side change that are results because the other side has none. */
  private static Change absent(Side own, Side other) {
    if (!other.wasThere) {
      return other.isThere ? new Change(own.before, -1) : new Change(own.changes, 1);
    }
    return other.isThere ? Change.NONE : new Change(own.after(), 1);
  }

  /** How the rows of a side change that are results because the other side has some. */
  private static Change present(Side own, Side other) {
    if (other.wasThere) {
      return other.isThere ? new Change(own.changes, 1) : new Change(own.before, -1);
    }
    return other.isThere ? new Change(own.after(), 1) : Change.NONE;
  }

  /** Rows, whose weights are to be taken times a sign. */
  private record Change(List<Weighted> rows, long sign) {
    static final Change NONE = new Change(List.of(), 1);
  }

  private static Iterator<InternalRow> alone(Results results, Change change, boolean isLeft) {
    return Iterators.transform(
        change.rows().iterator(),
        row -> {
          long weight = change.sign() * row.weight();
          return isLeft
              ? results.row(weight, row.row(), null)
              : results.row(weight, null, row.row());
        });
  }

  /** One side of the join under one key. */
  private static final class Side {
    private final ViewStore store;
    private final byte[] key;
    private final List<Weighted> changes;
    private List<Weighted> before;
    private List<Weighted> after;
    private boolean wasThere;
    private boolean isThere;

    Side(ViewStore store, byte[] key, List<Weighted> changes) {
      this.store = store;
      this.key = key;
      this.changes = changes;
    }

    /** Reads the rows before the batch: whether there is one, or each. */
    void look(boolean whether, boolean each) {
      if (each || store.isNew()) {
        before = Weights.before(store, key);
        wasThere = !before.isEmpty();
      } else if (whether) {
        wasThere = store.hasItems(key);
      }
    }

    /** Keeps the changes, and finds out whether there is a row after the batch. */
    void apply(boolean whether) {
      if (before != null) {
        after = Weights.apply(store, key, before, changes);
        isThere = !after.isEmpty();
        return;
      }
      Weights.apply(store, key, changes);
      if (whether) {
        isThere = changes.isEmpty() ? wasThere : store.hasItems(key);
      }
    }

    /** The rows that are there after the batch. */
    List<Weighted> after() {
      return after == null ? Weights.stored(store, key) : after;
    }
  }
}
