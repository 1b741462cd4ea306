package io.streamsql.serving;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.rocksdb.RocksDBException;

/** One query over all rows of some tables: a plan and the tables of its sources. */
public final class TablesQuery {
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
   * The results over the current rows, of views over those of an epoch: {@link ScannedRows#whole}.
   *
   * @param epoch its number, as {@link CommonEpoch} chooses it; negative: the current rows
   */
  public Object run(long epoch) throws RocksDBException {
    List<TableRows.Reading> readings = new ArrayList<>();
    List<Iterable<InternalRow>> inputs = new ArrayList<>();
    try {
      for (TableRows table : tables) {
        boolean isOfEpoch = epoch >= 0 && table.hasEpochs();
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
    return new ScannedRows(plan, inputs, readings).whole();
  }
}
