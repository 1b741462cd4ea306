package io.streamsql.formats;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A record is one line of CSV (RFC 4180). An empty field is null; DECIMAL has plain digits, DATE is
 * in days, TIME and TIMESTAMP in milliseconds, BYTES in base64. Quotes are written only where they
 * are required, by the rules of commons-csv, so that the text equals ksqlDB's.
 */
public final class DelimitedCodec implements Codec {
  private static final long serialVersionUID = 1L;
  private final StructField[] columns;
  private final char delimiter;

  public DelimitedCodec(StructType columns, char delimiter) {
    this.columns = columns.fields();
    this.delimiter = delimiter;
    for (StructField column : this.columns) {
      if (!isFlat(column.dataType())) {
        throw new IllegalArgumentException(
            "the DELIMITED format does not support " + column.dataType().sql());
      }
    }
  }

  private static boolean isFlat(DataType type) {
    return type instanceof BooleanType
        || type instanceof IntegerType
        || type instanceof LongType
        || type instanceof DoubleType
        || type instanceof DecimalType
        || type instanceof StringType
        || type instanceof BinaryType
        || type instanceof DateType
        || type instanceof TimestampType;
  }

  @Override
  public int width() {
    return columns.length;
  }

  @Override
  public boolean decode(byte[] bytes, Object[] fields, int at) throws RecordException {
    List<String> texts = split(new String(bytes, StandardCharsets.UTF_8));
    if (texts.size() != columns.length) {
      throw new RecordException(
          "unexpected field count: expected " + columns.length + ", found " + texts.size());
    }
    for (int i = 0; i < columns.length; i++) {
      String text = texts.get(i);
      try {
        fields[at + i] = text.isEmpty() ? null : value(text, columns[i]);
      } catch (RecordException e) {
        throw e.in("." + columns[i].name());
      }
    }
    return true;
  }

  /** The value of a non-empty text in a flat column. */
  public static Object value(String text, StructField column) throws RecordException {
    DataType type = column.dataType();
    if (type instanceof StringType) {
      return UTF8String.fromString(text);
    } else if (type instanceof IntegerType) {
      return TextValues.toInt(text);
    } else if (type instanceof LongType) {
      return SqlTime.isTime(column) ? TextValues.toTime(text) : TextValues.toLong(text);
    } else if (type instanceof DoubleType) {
      return TextValues.toDouble(text);
    } else if (type instanceof DecimalType decimal) {
      return TextValues.toDecimal(text, decimal);
    } else if (type instanceof DateType) {
      return TextValues.toDate(text);
    } else if (type instanceof TimestampType) {
      return TextValues.toTimestamp(text);
    } else if (type instanceof BinaryType) {
      return TextValues.toBytes(text);
    }
    return bool(text);
  }

  private static Boolean bool(String text) throws RecordException {
    String trimmed = text.trim();
    if (trimmed.equalsIgnoreCase("true")) {
      return true;
    } else if (trimmed.equalsIgnoreCase("false")) {
      return false;
    }
    throw TextValues.mismatch("BOOLEAN", "text " + TextValues.quoted(text));
  }

  /** The fields of the line; a quoted field may hold delimiters and line ends. */
  private List<String> split(String line) throws RecordException {
    List<String> fields = new ArrayList<>(columns.length);
    int end =
        line.endsWith("\r\n")
            ? line.length() - 2
            : line.endsWith("\n") ? line.length() - 1 : line.length();
    int i = 0;
    while (true) {
      if (i < end && line.charAt(i) == '"') {
        StringBuilder field = new StringBuilder();
        i = quotedField(line, i + 1, end, field);
        fields.add(field.toString());
      } else {
        int next = line.indexOf(delimiter, i);
        int stop = next < 0 || next > end ? end : next;
        fields.add(line.substring(i, stop));
        i = stop;
      }
      if (i >= end) {
        return fields;
      }
      i++; // the delimiter
    }
  }

  /**
   * Reads past the closing quote; returns the position of the delimiter or end that has to follow.
   */
  private int quotedField(String line, int from, int end, StringBuilder field)
      throws RecordException {
    int i = from;
    while (i < end) {
      char c = line.charAt(i++);
      if (c != '"') {
        field.append(c);
      } else if (i < end && line.charAt(i) == '"') {
        field.append('"');
        i++;
      } else if (i < end && line.charAt(i) != delimiter) {
        throw new RecordException("found text after the closing quote of a field");
      } else {
        return i;
      }
    }
    throw new RecordException("a quoted field has no closing quote");
  }

  @Override
  public byte[] encode(InternalRow row) {
    StringBuilder line = new StringBuilder(16 * columns.length);
    for (int i = 0; i < columns.length; i++) {
      if (i > 0) {
        line.append(delimiter);
      }
      if (!row.isNullAt(i)) {
        append(line, row, i);
      } else if (columns.length == 1) {
        return null;
      }
    }
    return line.toString().getBytes(StandardCharsets.UTF_8);
  }

  private void append(StringBuilder line, InternalRow row, int i) {
    quote(line, text(row, i), i == 0);
  }

  private String text(InternalRow row, int i) {
    DataType type = columns[i].dataType();
    if (type instanceof StringType) {
      return row.getUTF8String(i).toString();
    } else if (type instanceof DecimalType decimal) {
      return row.getDecimal(i, decimal.precision(), decimal.scale())
          .toJavaBigDecimal()
          .toPlainString();
    } else if (type instanceof TimestampType) {
      return Long.toString(Math.floorDiv(row.getLong(i), 1000L));
    } else if (type instanceof BinaryType) {
      return Base64.getEncoder().encodeToString(row.getBinary(i));
    }
    return String.valueOf(row.get(i, type));
  }

  private void quote(StringBuilder line, String text, boolean first) {
    if (!needsQuotes(text, first)) {
      line.append(text);
      return;
    }
    line.append('"').append(text.replace("\"", "\"\"")).append('"');
  }

  private boolean needsQuotes(String text, boolean first) {
    if (text.isEmpty()) {
      return first; // else a record of one empty field would be an empty record
    }
    // As in commons-csv, the first text of a line begins with a letter or digit, or a quote.
    if (first && !isLetterOrDigit(text.charAt(0))) {
      return true;
    }
    // A reader could trim a text that begins or ends with one of these, or take it for a comment.
    if (text.charAt(0) <= '#' || text.charAt(text.length() - 1) <= ' ') {
      return true;
    }
    return text.indexOf(delimiter) >= 0
        || text.indexOf('"') >= 0
        || text.indexOf('\n') >= 0
        || text.indexOf('\r') >= 0;
  }

  private static boolean isLetterOrDigit(char c) {
    return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z';
  }
}
