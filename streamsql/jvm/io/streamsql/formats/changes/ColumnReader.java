package io.streamsql.formats.changes;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.formats.FieldNames;
import io.streamsql.formats.Precision;
import io.streamsql.formats.RecordException;
import io.streamsql.formats.SqlTime;
import io.streamsql.formats.TextValues;
import io.streamsql.formats.json.JsonReader;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.OffsetTime;
import java.time.ZoneOffset;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.TimestampType;

/**
 * Reads a database column's value from JSON. Kafka Connect's schema of the field or an option
 * defines its encoding; without either, the value is refused rather than guessed. Types that
 * databases encode alike are read by {@link JsonReader}.
 */
final class ColumnReader implements Serializable {
  private static final long serialVersionUID = 1L;

  private final StructField column;
  private final ReadOptions options;
  private final JsonReader plain;

  /** Of an array's elements. */
  private final ColumnReader element;

  ColumnReader(StructField column, ReadOptions options) {
    this.column = column;
    this.options = options;
    this.plain = JsonReader.of(column);
    this.element =
        column.dataType() instanceof ArrayType array
            ? new ColumnReader(element(array, column), options)
            : null;
  }

  private static StructField element(ArrayType array, StructField column) {
    String declared = SqlTime.element(SqlTime.declared(column));
    return new StructField(column.name(), array.elementType(), true, FieldNames.time(declared));
  }

  /**
   * The value, null for a JSON null or a missing node.
   *
   * @param schema Kafka Connect's schema of the field; a missing node if there is none
   */
  Object read(JsonNode value, JsonNode schema) throws RecordException {
    if (value.isNull() || value.isMissingNode()) {
      return null;
    }
    try {
      return present(value, schema, column.dataType());
    } catch (RecordException e) {
      throw e.in("." + column.name());
    }
  }

  private Object present(JsonNode value, JsonNode schema, DataType type) throws RecordException {
    if (type instanceof TimestampType) {
      return timestamp(value, schema);
    } else if (type instanceof LongType && SqlTime.isTime(column)) {
      return time(value, schema);
    } else if (type instanceof DecimalType decimal) {
      return decimal(value, schema, decimal);
    } else if (type instanceof BooleanType) {
      return truth(value);
    } else if (type instanceof BinaryType && options.latin1() && value.isTextual()) {
      return value.textValue().getBytes(StandardCharsets.ISO_8859_1);
    } else if (element != null && value.isArray()) {
      return array(value, schema.path("items"));
    }
    return plain(value);
  }

  private Object plain(JsonNode value) throws RecordException {
    try (JsonParser parser = value.traverse()) {
      parser.nextToken();
      return plain.read(parser);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a tree in memory does not fail
    }
  }

  private Object array(JsonNode values, JsonNode schema) throws RecordException {
    Object[] found = new Object[values.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = element.read(values.get(i), schema);
    }
    return new GenericArrayData(found);
  }

  /** MySQL has no boolean type: its tools write 0 and 1, as numbers or text. */
  private static Object truth(JsonNode value) throws RecordException {
    return switch (value.asText()) {
      case "true", "1" -> true;
      case "false", "0" -> false;
      default -> throw TextValues.mismatch("BOOLEAN", shown(value));
    };
  }

  private Object timestamp(JsonNode value, JsonNode schema) throws RecordException {
    if (value.isIntegralNumber()) {
      Precision precision = precision(schema, options.timestamps(), "TIMESTAMP_PRECISION");
      return TextValues.micros(precision.milliseconds(value.longValue()));
    } else if (value.isTextual()) {
      return TextValues.toTimestamp(iso(value.textValue().trim()));
    }
    throw TextValues.mismatch("TIMESTAMP", shown(value));
  }

  /** Databases write a space between date and time. */
  private static String iso(String text) {
    return text.length() > 10 && text.charAt(10) == ' '
        ? text.substring(0, 10) + "T" + text.substring(11)
        : text;
  }

  private Object time(JsonNode value, JsonNode schema) throws RecordException {
    if (value.isIntegralNumber()) {
      return precision(schema, options.times(), "TIME_PRECISION").milliseconds(value.longValue());
    } else if (!value.isTextual()) {
      throw TextValues.mismatch("TIME", shown(value));
    }
    String text = value.textValue().trim();
    if (text.endsWith("Z") || text.indexOf('+') > 0 || text.indexOf('-') > 0) {
      try {
        OffsetTime zoned = OffsetTime.parse(text).withOffsetSameInstant(ZoneOffset.UTC);
        return zoned.toLocalTime().toNanoOfDay() / 1_000_000;
      } catch (DateTimeException e) {
        throw TextValues.mismatch("TIME", shown(value));
      }
    }
    return TextValues.toTime(text);
  }

  private static Precision precision(JsonNode schema, Precision option, String name)
      throws RecordException {
    Precision found = Precision.named(schema.path("name").textValue());
    if (found == null && option == null) {
      throw new RecordException(
          "no schema defines the unit of the number: add " + name + "='MICROSECONDS' or the like");
    }
    return found == null ? option : found;
  }

  private Object decimal(JsonNode value, JsonNode schema, DecimalType type) throws RecordException {
    if (value.isNumber()) {
      return TextValues.fit(value.decimalValue(), type);
    } else if (value.isObject()) { // io.debezium.data.VariableScaleDecimal
      byte[] digits = TextValues.toBytes(value.path("value").asText());
      return unscaled(digits, value.path("scale").asInt(), type);
    } else if (!value.isTextual()) {
      throw TextValues.mismatch(type.sql(), shown(value));
    }
    String text = value.textValue();
    if ("org.apache.kafka.connect.data.Decimal".equals(schema.path("name").textValue())) {
      int scale = schema.path("parameters").path("scale").asInt(type.scale());
      return unscaled(TextValues.toBytes(text), scale, type);
    } else if ("string".equals(schema.path("type").textValue()) || options.textDecimals()) {
      return TextValues.toDecimal(text, type);
    } else if (options.preciseDecimals()) {
      return unscaled(TextValues.toBytes(text), type.scale(), type);
    }
    throw new RecordException(
        "no schema defines the encoding of the number: add DECIMAL_HANDLING_MODE='PRECISE' or"
            + " 'STRING'");
  }

  private static Object unscaled(byte[] digits, int scale, DecimalType type)
      throws RecordException {
    if (digits.length == 0) {
      throw TextValues.mismatch(type.sql(), "no digits");
    }
    return TextValues.fit(new BigDecimal(new BigInteger(digits), scale), type);
  }

  private static String shown(JsonNode value) {
    return value.isTextual() ? "text " + TextValues.quoted(value.textValue()) : value.toString();
  }
}
