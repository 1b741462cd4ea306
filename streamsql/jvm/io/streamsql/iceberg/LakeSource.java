package io.streamsql.iceberg;

import io.streamsql.databases.Retries;
import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A source of Spark's batches, by its class name: the rows of a table of Iceberg as of a snapshot.
 * Spark reads only the columns that it needs, and only files in which its conditions may hold.
 *
 * <p>Options: {@code name} of the source in messages, {@code catalog}, {@code table}, {@code
 * version} and {@code millis} of {@link LakeVersion}, {@code jars} separated by line feeds, and
 * {@code catalog.<property>}.
 */
public final class LakeSource implements TableProvider {
  private static final String OF_CATALOG = "catalog.";

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    throw new IllegalArgumentException("the columns of " + options.get("name") + " are not given");
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> given) {
    Map<String, String> properties = new HashMap<>();
    given.forEach(
        (name, value) -> {
          if (name.startsWith(OF_CATALOG)) {
            properties.put(name.substring(OF_CATALOG.length()), value);
          }
        });
    LakeTable table =
        new LakeTable(
            given.get("catalog"),
            properties,
            given.get("table"),
            given.get("jars").lines().toList());
    LakeVersion version =
        new LakeVersion(given.get("version"), Long.parseLong(given.get("millis")));
    return new Source(given.get("name"), table, version, schema);
  }

  private record Source(String name, LakeTable table, LakeVersion at, StructType type)
      implements SupportsRead {
    @Override
    @SuppressWarnings("deprecation") // Spark asks a table without columns for its schema.
    public StructType schema() {
      return type;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return new Builder(this);
    }

    /** The table and the catalog, for messages. */
    String place() {
      return name + " in " + table.place();
    }
  }

  private static final class Builder
      implements SupportsPushDownFilters, SupportsPushDownRequiredColumns {
    private final Source source;
    private StructType columns;
    private Filter[] filters = {};

    Builder(Source source) {
      this.source = source;
      this.columns = source.type;
    }

    @Override
    public void pruneColumns(StructType required) {
      columns = required;
    }

    /** Spark evaluates all of them again: here they only say which files are not needed. */
    @Override
    public Filter[] pushFilters(Filter[] given) {
      filters = given.clone();
      return given;
    }

    @Override
    public Filter[] pushedFilters() {
      return new Filter[0];
    }

    @Override
    public Scan build() {
      return new Reading(source, columns, List.of(filters));
    }
  }

  private record Reading(Source source, StructType columns, List<Filter> filters)
      implements Scan, Batch {
    @Override
    public StructType readSchema() {
      return columns;
    }

    @Override
    public String description() {
      return source.place();
    }

    @Override
    public Batch toBatch() {
      return this;
    }

    @Override
    public InputPartition[] planInputPartitions() {
      Configuration conf = SparkSession.active().sessionState().newHadoopConf();
      Retries few =
          new Retries(
              ErrorCode.LOOKUP_UNAVAILABLE,
              TimeUnit.SECONDS.toNanos(1),
              TimeUnit.SECONDS.toNanos(1));
      LakeTable table = source.table;
      try (LakeLoader.Scope scope = LakeLoader.enter(table.jars())) {
        LakePlan plan =
            few.call(
                source.place(),
                () -> scope.provider().plan(table, source.at, columns, filters, conf));
        if (!plan.problem().isEmpty()) {
          throw new CodedException(ErrorCode.LAKE_MISMATCH, source.name + ": " + plan.problem());
        }
        return plan.tasks().stream()
            .map(task -> new Part(plan.table(), task))
            .toArray(InputPartition[]::new);
      }
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new Readers(source.place(), columns, source.table.jars());
    }
  }

  private record Part(String table, String task) implements InputPartition {}

  private record Readers(String place, StructType columns, List<String> jars)
      implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      try {
        return new Reader(place, (Part) partition, columns, jars);
      } catch (RuntimeException e) {
        throw unreadable(place, e);
      }
    }
  }

  /** Spark cannot send exceptions of Iceberg, whose classes are not on the class path. */
  private static CodedException unreadable(String place, RuntimeException e) {
    String message = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    return new CodedException(ErrorCode.LOOKUP_UNAVAILABLE, place + ": " + message);
  }

  private static final class Reader implements PartitionReader<InternalRow> {
    private final String place;
    private final List<String> jars;
    private final LakeRows rows;
    private InternalRow row;

    Reader(String place, Part part, StructType columns, List<String> jars) {
      this.place = place;
      this.jars = jars;
      try (LakeLoader.Scope scope = LakeLoader.enter(jars)) {
        this.rows = scope.provider().read(part.table, part.task, columns);
      }
    }

    @Override
    public boolean next() {
      try {
        row = rows.hasNext() ? rows.next() : null;
      } catch (RuntimeException e) {
        throw unreadable(place, e);
      }
      return row != null;
    }

    @Override
    public InternalRow get() {
      return row;
    }

    @Override
    @SuppressWarnings("try") // Files may be closed by classes of Iceberg's.
    public void close() throws IOException {
      try (LakeLoader.Scope scope = LakeLoader.enter(jars)) {
        rows.close();
      }
    }
  }
}
