package io.streamsql.lookups;

import com.univocity.parsers.csv.CsvParser;
import com.univocity.parsers.csv.CsvParserSettings;
import io.streamsql.formats.DelimitedCodec;
import io.streamsql.formats.RecordException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * CSV with a header that maps fields to columns, case-insensitively. An empty field is null, an
 * empty text is quoted; values are written as in the format DELIMITED.
 */
final class CsvRows implements RowFiles.Format {
  private static final int MOST_COLUMNS = 20_000;
  private final StructField[] columns;

  CsvRows(StructType schema) {
    this.columns = schema.fields();
  }

  @Override
  public void read(FileSystem system, Path path, Consumer<InternalRow> rows) throws IOException {
    CsvParser parser = new CsvParser(settings());
    try (Reader reader = new InputStreamReader(system.open(path), StandardCharsets.UTF_8)) {
      parser.beginParsing(reader);
      try {
        String[] header = parser.parseNext();
        if (header == null) {
          throw new IOException(path + " has no header");
        }
        int[] places = places(header, path);
        for (String[] texts = parser.parseNext(); texts != null; texts = parser.parseNext()) {
          long line = parser.getContext().currentLine();
          rows.accept(row(texts, places, path, line));
        }
      } finally {
        parser.stopParsing();
      }
    }
  }

  private static CsvParserSettings settings() {
    CsvParserSettings settings = new CsvParserSettings();
    settings.setNullValue(null);
    settings.setEmptyValue("");
    settings.setMaxCharsPerColumn(-1);
    settings.setMaxColumns(MOST_COLUMNS);
    settings.setLineSeparatorDetectionEnabled(true);
    settings.setIgnoreLeadingWhitespaces(false);
    settings.setIgnoreTrailingWhitespaces(false);
    return settings;
  }

  private int[] places(String[] header, Path path) throws IOException {
    int[] places = new int[columns.length];
    for (int i = 0; i < columns.length; i++) {
      places[i] = -1;
      for (int j = 0; j < header.length && places[i] < 0; j++) {
        // Some editors write a byte order mark before the first name.
        String name = header[j] == null ? "" : header[j].replace("\uFEFF", "").strip();
        places[i] = name.equalsIgnoreCase(columns[i].name()) ? j : -1;
      }
      if (places[i] < 0) {
        throw new IOException(path + " has no column " + columns[i].name() + " in its header");
      }
    }
    return places;
  }

  private InternalRow row(String[] texts, int[] places, Path path, long line) throws IOException {
    Object[] values = new Object[columns.length];
    for (int i = 0; i < values.length; i++) {
      String text = places[i] < texts.length ? texts[places[i]] : null;
      try {
        values[i] = value(text, columns[i]);
      } catch (RecordException e) {
        throw new IOException(
            path + ", line " + line + ", " + columns[i].name() + ": " + e.getMessage(), e);
      }
    }
    return new GenericInternalRow(values);
  }

  private static Object value(String text, StructField column) throws RecordException {
    if (text != null && column.dataType() instanceof StringType) {
      return UTF8String.fromString(text);
    }
    return text == null || text.isEmpty() ? null : DelimitedCodec.value(text, column);
  }
}
