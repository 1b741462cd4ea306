package io.streamsql.serving;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.rocksdb.RocksDBException;

/** One query over all rows of some tables: a plan and the tables of its sources. */
public final class TablesQuery implements PreparedQuery {
  private final CompiledPlan plan;
  private final long mostRows;
  private final List<ServedTable> served = new ArrayList<>();
  private final List<TableRows> tables = new ArrayList<>();

  /**
   * @param plan has a source for each table that is added, in order
   * @param mostRows how many rows the product of all tables may have for {@link #get}
   */
  public TablesQuery(CompiledPlan plan, long mostRows) {
    this.plan = plan;
    this.mostRows = mostRows;
  }

  /**
   * Adds a table.
   *
   * @param reader decodes the table's records into rows of the plan's source
   */
  public void add(ServedTable table, CompiledPlan reader) {
    served.add(table);
    tables.add(table.rows(reader));
  }

  /**
   * The results over the current rows, of views over those of an epoch: {@link ScannedRows#whole}.
   *
   * @param epoch its number, as {@link CommonEpoch} chooses it; negative: the current rows
   */
  public Object run(long epoch) throws RocksDBException {
    List<TableRows.Reading> readings = read(epoch);
    return new ScannedRows(plan, rows(readings), readings).whole();
  }

  /**
   * @param packed the epoch as of which views are read (long); negative: the newest one
   */
  @Override
  public synchronized byte[] get(byte[] packed) throws NotNow {
    // One execution at a time: its operators are the plan's.
    try {
      checkSmall();
      long epoch = choose(ByteBuffer.wrap(packed).getLong());
      List<TableRows.Reading> readings = read(epoch);
      byte[] results;
      try {
        results = ScannedRows.all(plan, rows(readings));
      } finally {
        ScannedRows.closeAll(readings);
      }
      return ByteBuffer.allocate(8 + results.length).putLong(epoch).put(results).array();
    } catch (RocksDBException | RuntimeException e) {
      // The usual way waits for what is missing, or reports what is wrong.
      throw new NotNow(e);
    }
  }

  private void checkSmall() throws RocksDBException {
    long rows = 1;
    for (ServedTable table : served) {
      rows *= Math.max(1, table.rows());
      if (rows > mostRows || !table.isComplete()) {
        throw new IllegalStateException("a table has too many rows, or is still being read");
      }
    }
  }

  /** The epoch as of which views are read; NONE without views, or of one between two epochs. */
  private long choose(long wanted) {
    CommonEpoch choice = new CommonEpoch();
    served.forEach(table -> table.addTo(choice));
    long views = served.stream().filter(ServedTable::isView).count();
    if (views == 0) {
      return CommonEpoch.NONE;
    }
    long found = wanted < 0 ? choice.newest() : wanted;
    if (wanted < 0 ? views > 1 && found < 0 : !choice.has(wanted)) {
      throw new IllegalStateException("the views have no such epoch in common");
    }
    return found;
  }

  private List<TableRows.Reading> read(long epoch) throws RocksDBException {
    List<TableRows.Reading> readings = new ArrayList<>();
    try {
      for (TableRows table : tables) {
        boolean isOfEpoch = epoch >= 0 && table.hasEpochs();
        TableRows.Reading reading = isOfEpoch ? table.read(epoch) : table.read();
        if (reading == null) {
          throw new IllegalStateException("the rows of epoch " + epoch + " are no longer kept");
        }
        readings.add(reading);
      }
    } catch (RocksDBException | RuntimeException | Error e) {
      ScannedRows.closeAll(readings);
      throw e;
    }
    return readings;
  }

  private static List<Iterable<InternalRow>> rows(List<TableRows.Reading> readings) {
    List<Iterable<InternalRow>> rows = new ArrayList<>();
    readings.forEach(reading -> rows.add(reading.rows()));
    return rows;
  }
}
