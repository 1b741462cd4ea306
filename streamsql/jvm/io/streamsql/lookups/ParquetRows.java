package io.streamsql.lookups;

import java.io.IOException;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec;
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport;
import org.apache.spark.sql.internal.LegacyBehaviorPolicy;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** Parquet as Spark reads it; names of columns are case-insensitive. */
final class ParquetRows implements RowFiles.Format {
  private final StructType schema;
  private final Configuration conf;

  ParquetRows(StructType schema, Configuration given) {
    this.schema = schema;
    conf = new Configuration(given);
    conf.setBoolean(SQLConf.CASE_SENSITIVE().key(), true);
    conf.setBoolean(SQLConf.PARQUET_BINARY_AS_STRING().key(), true);
    conf.setBoolean(SQLConf.PARQUET_INT96_AS_TIMESTAMP().key(), true);
    conf.setBoolean(SQLConf.PARQUET_INFER_TIMESTAMP_NTZ_ENABLED().key(), false);
    conf.setBoolean(SQLConf.NESTED_SCHEMA_PRUNING_ENABLED().key(), false);
    conf.setBoolean(SQLConf.PARQUET_FIELD_ID_READ_ENABLED().key(), false);
    conf.setBoolean(SQLConf.LEGACY_PARQUET_NANOS_AS_LONG().key(), false);
  }

  @Override
  public void read(FileSystem system, Path path, Consumer<InternalRow> rows) throws IOException {
    Configuration wanted = new Configuration(conf);
    wanted.set(ParquetReadSupport.SPARK_ROW_REQUESTED_SCHEMA(), named(path).json());
    RebaseSpec proleptic = new RebaseSpec(LegacyBehaviorPolicy.CORRECTED(), Option.empty());
    ParquetReadSupport support =
        new ParquetReadSupport(Option.empty(), false, proleptic, proleptic);
    try (ParquetReader<InternalRow> reader =
        ParquetReader.builder(support, path).withConf(wanted).build()) {
      for (InternalRow row = reader.read(); row != null; row = reader.read()) {
        // The reader reuses one row object.
        rows.accept(row.copy());
      }
    }
  }

  /** The columns' names in the file, which may differ in case. */
  private StructType named(Path path) throws IOException {
    try (ParquetFileReader file = ParquetFileReader.open(HadoopInputFile.fromPath(path, conf))) {
      StructType named = new StructType();
      for (StructField column : schema.fields()) {
        named = named.add(name(column.name(), file, path), column.dataType(), true);
      }
      return named;
    }
  }

  private static String name(String wanted, ParquetFileReader file, Path path) throws IOException {
    for (Type found : file.getFileMetaData().getSchema().getFields()) {
      if (found.getName().equalsIgnoreCase(wanted)) {
        return found.getName();
      }
    }
    throw new IOException(path + " has no column " + wanted);
  }
}
