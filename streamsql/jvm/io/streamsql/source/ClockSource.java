package io.streamsql.source;

import io.streamsql.runs.QueryRun;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A source of Structured Streaming, by its class name, that has no rows: it makes a query run a
 * batch when its {@link Clock} says so. The option {@value TopicSource#QUERY} names the query, the
 * option {@value #COLUMNS} has the columns as Spark's JSON.
 */
public final class ClockSource implements TableProvider {
  public static final String COLUMNS = "streamsql.columns";

  /** Whether a stream is one of this source. */
  public static boolean gives(MicroBatchStream stream) {
    return stream instanceof Ticks;
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return (StructType) DataType.fromJson(options.get(COLUMNS));
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Nothing(schema);
  }

  private record Nothing(StructType type) implements SupportsRead {
    @Override
    public String name() {
      return "clock";
    }

    @Override
    @SuppressWarnings("deprecation") // Spark asks a table without columns for its schema.
    public StructType schema() {
      return type;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> new NoRows(type, options.get(TopicSource.QUERY));
    }
  }

  private record NoRows(StructType type, String query) implements Scan {
    @Override
    public StructType readSchema() {
      return type;
    }

    @Override
    public String description() {
      return "clock";
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      Clock clock = Clock.of(QueryRun.open(SparkSession.active().sparkContext(), query));
      clock.ticked(0);
      return new Ticks(clock);
    }
  }

  /** The offset is the time of the last batch by the clock. */
  private record Ticks(Clock clock) implements MicroBatchStream, SupportsAdmissionControl {
    @Override
    public Offset initialOffset() {
      return new Moment(0);
    }

    @Override
    public Offset latestOffset() {
      return latestOffset(initialOffset(), getDefaultReadLimit());
    }

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
      long now = System.currentTimeMillis();
      if (now < clock.due()) {
        return start;
      }
      clock.ticked(now);
      return new Moment(now);
    }

    @Override
    public Offset deserializeOffset(String json) {
      return new Moment(Long.parseLong(json));
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      return new InputPartition[0];
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return partition -> {
        throw new UnsupportedOperationException("the clock has no partitions");
      };
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}
  }

  private static final class Moment extends Offset {
    private final long millis;

    Moment(long millis) {
      this.millis = millis;
    }

    @Override
    public String json() {
      return Long.toString(millis);
    }
  }
}
