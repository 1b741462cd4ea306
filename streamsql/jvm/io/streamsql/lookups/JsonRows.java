package io.streamsql.lookups;

import io.streamsql.formats.Codec;
import io.streamsql.formats.RecordException;
import io.streamsql.formats.json.JsonCodec;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;

/** A JSON object per line, read like the records of a topic in the format JSON. */
final class JsonRows implements RowFiles.Format {
  private final Codec codec;

  JsonRows(StructType schema) {
    this.codec = new JsonCodec(schema, true);
  }

  @Override
  public void read(FileSystem system, Path path, Consumer<InternalRow> rows) throws IOException {
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(system.open(path), StandardCharsets.UTF_8))) {
      long number = 0;
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        number++;
        if (line.isBlank()) {
          continue;
        }
        Object[] values = new Object[codec.width()];
        try {
          codec.decode(line.getBytes(StandardCharsets.UTF_8), values, 0);
        } catch (RecordException e) {
          throw new IOException(path + ", line " + number + ": " + e.getMessage(), e);
        }
        rows.accept(new GenericInternalRow(values));
      }
    }
  }
}
