package io.streamsql.serving;

import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import org.apache.spark.sql.catalyst.InternalRow;
import org.rocksdb.RocksDBException;

/** One query over all rows of some tables: a plan and the tables of its sources. */
public final class TablesQuery {
  private static final long PATIENCE_NANOS = 10_000_000_000L;
  private static final long LOOK_MILLIS = 5;

  private final CompiledPlan plan;
  private final List<TableRows> tables = new ArrayList<>();

  /**
   * @param plan has a source for each table that is added, in order
   */
  public TablesQuery(CompiledPlan plan) {
    this.plan = plan;
  }

  /**
   * Adds a table.
   *
   * @param reader decodes the table's records into rows of the plan's source
   */
  public void add(ServedTable table, CompiledPlan reader) {
    tables.add(table.rows(reader));
  }

  /**
   * The results over the current rows. Those of views are of one moment: of an epoch. IllegalState
   * if there is none that all of them have.
   *
   * @param wanted its number; negative: the newest one
   */
  public ScannedRows run(long wanted) throws RocksDBException, InterruptedException {
    List<TableRows> views = tables.stream().filter(TableRows::hasEpochs).toList();
    // One view alone is always of one moment.
    boolean asTheyAre = views.isEmpty() || (wanted < 0 && views.size() == 1);
    long epoch = asTheyAre || wanted >= 0 ? wanted : commonEpoch(views);
    List<TableRows.Reading> readings = new ArrayList<>();
    List<Iterable<InternalRow>> inputs = new ArrayList<>();
    try {
      for (TableRows table : tables) {
        boolean isOfEpoch = !asTheyAre && views.contains(table);
        TableRows.Reading reading = isOfEpoch ? table.read(epoch) : table.read();
        if (reading == null) {
          throw new IllegalStateException("the rows of epoch " + epoch + " are no longer kept");
        }
        readings.add(reading);
        inputs.add(reading.rows());
      }
    } catch (RocksDBException | RuntimeException | Error e) {
      ScannedRows.closeAll(readings);
      throw e;
    }
    return new ScannedRows(plan, inputs, readings);
  }

  /** The newest epoch of all views. A store that has just been opened may have none yet. */
  private static long commonEpoch(List<TableRows> views) throws InterruptedException {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    while (true) {
      NavigableSet<Long> common = views.get(0).epochs();
      views.forEach(view -> common.retainAll(view.epochs()));
      if (!common.isEmpty()) {
        return common.last();
      }
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException(
            "its views have no epoch in common: one is paused, or has failed");
      }
      Thread.sleep(LOOK_MILLIS);
    }
  }
}
