package io.streamsql.views;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The watermark of a source: rows that are not below it, and itself. Of changes (key BINARY, row
 * BINARY, weight BIGINT, time BIGINT, partition BIGINT, stage BIGINT) it makes (weight, row,
 * watermark): a row without a watermark is on time, one with a watermark is late, and the watermark
 * at the end of the batch has no row. Times are microseconds since the epoch.
 *
 * <p>All rows are in one partition, between one of the stage {@link #BEGIN} and one of the stage
 * {@link #END}. In the order of the log, each partition of the topic has the greatest time of its
 * rows so far, less the delay, so that the same rows are late however the log is cut into batches.
 * Without that order a row is compared with the watermark before the batch. The watermark is the
 * least of those of the partitions that had rows.
 */
public final class OnTimeRows extends ViewOperator {
  private static final long serialVersionUID = 1L;
  static final long BEGIN = 0;
  static final long END = 2;
  private static final byte[] PARTITIONS = {0};

  private final long delay;
  private final boolean inOrder;
  private transient Map<Long, Long> greatest;
  private transient long watermark;

  /**
   * @param delay between the greatest time and the watermark, in microseconds
   * @param inOrder whether rows come in the order of the log
   */
  public OnTimeRows(long delay, boolean inOrder) {
    this.delay = delay;
    this.inOrder = inOrder;
  }

  @Override
  StructType results() {
    return columns(
        "weight", DataTypes.LongType,
        "row", DataTypes.BinaryType,
        "watermark", DataTypes.LongType);
  }

  @Override
  Iterator<InternalRow> changes(byte[] key, Iterator<InternalRow> rows, ViewStore store) {
    List<Object[]> results = new ArrayList<>(1);
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      long stage = row.getLong(5);
      if (stage == BEGIN) {
        begin(store);
      } else if (stage == END) {
        greatest.forEach(
            (part, time) -> store.put(PARTITIONS, Weights.bytes(part), Weights.bytes(time)));
        results.add(new Object[] {0L, null, least()});
      } else {
        results.add(judged(row.getBinary(1), row.getLong(2), row.getLong(3), row.getLong(4)));
      }
    }
    return new Results(3).rows(results);
  }

  private void begin(ViewStore store) {
    greatest = new HashMap<>();
    for (ViewStore.Item item : store.items(PARTITIONS)) {
      greatest.put(Weights.number(item.item()), Weights.number(item.value()));
    }
    Long known = least();
    watermark = known == null ? Long.MIN_VALUE : known;
  }

  private Object[] judged(byte[] row, long weight, long time, long partition) {
    long before = watermark;
    if (inOrder) {
      before = Math.max(before, greatest.getOrDefault(partition, Long.MIN_VALUE));
    }
    if (time < before) {
      return new Object[] {weight, row, before};
    }
    greatest.merge(partition, time - delay, Math::max);
    return new Object[] {weight, row, null};
  }

  private Long least() {
    return greatest.values().stream().min(Long::compare).orElse(null);
  }
}
