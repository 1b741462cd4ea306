package io.streamsql.iceberg.tables;

import io.streamsql.databases.References;
import io.streamsql.iceberg.IcebergTarget;
import io.streamsql.iceberg.Lake;
import io.streamsql.iceberg.LakePlan;
import io.streamsql.iceberg.LakeRows;
import io.streamsql.iceberg.LakeTable;
import io.streamsql.iceberg.LakeVersion;
import java.io.Closeable;
import java.io.IOException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchNamespaceException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalog;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/** Opens catalogs. */
public final class IcebergLakes implements Lake.Provider {
  /** By which other engines find the tables of a database that is a catalog. */
  private static final String NAME = "streamsql";

  private static final String DRIVER = "org.postgresql.Driver";
  private static final Map<String, String> SECONDS =
      Map.of("jdbc.connectTimeout", "5", "jdbc.loginTimeout", "5", "jdbc.socketTimeout", "30");

  @Override
  public Lake open(IcebergTarget target, Configuration conf)
      throws ClassNotFoundException, IOException {
    return new IcebergLake(target, catalog(target.lake(), conf));
  }

  @Override
  public List<Lake.Part> write(
      IcebergTarget target, Lake.Start start, Iterator<InternalRow> rows, Lake.Refusals refusals) {
    try (LakeWriter writer = new LakeWriter(target, start, refusals)) {
      while (rows.hasNext()) {
        writer.add(rows.next());
      }
      return writer.finish();
    }
  }

  @Override
  public LakePlan plan(
      LakeTable table,
      LakeVersion version,
      StructType columns,
      List<Filter> filters,
      Configuration conf)
      throws ClassNotFoundException, IOException {
    Catalog catalog = catalog(table, conf);
    try {
      Table found = catalog.loadTable(TableIdentifier.parse(table.table()));
      return TableReader.plan(found, version, columns, filters);
    } catch (NoSuchTableException | NoSuchNamespaceException e) {
      return LakePlan.impossible(
          "the catalog %s has no table %s".formatted(table.place(), table.table()));
    } finally {
      if (catalog instanceof Closeable closeable) {
        closeable.close();
      }
    }
  }

  @Override
  public LakeRows read(String table, String task, StructType columns) {
    return TableReader.rows(table, task, columns);
  }

  private static Catalog catalog(LakeTable table, Configuration conf)
      throws ClassNotFoundException, IOException {
    Map<String, String> properties = new HashMap<>();
    for (Map.Entry<String, String> given : table.properties().entrySet()) {
      properties.put(given.getKey(), References.resolved(given.getValue(), System.getenv()));
    }
    ClassLoader loader = IcebergLakes.class.getClassLoader();
    // The client of object stores is no part of the class path either.
    conf.setClassLoader(loader);
    conf.setIfUnset("fs.s3.impl", "org.apache.hadoop.fs.s3a.S3AFileSystem");
    Class<? extends Catalog> found =
        switch (table.catalog()) {
          case "HADOOP" -> HadoopCatalog.class;
          case "REST" -> RESTCatalog.class;
          default -> JdbcCatalog.class;
        };
    if (found == JdbcCatalog.class) {
      Class.forName(DRIVER, true, loader); // It registers itself for classes of this loader.
      properties.putAll(SECONDS);
    }
    return CatalogUtil.loadCatalog(found.getName(), NAME, properties, conf);
  }
}
