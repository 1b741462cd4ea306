package io.streamsql.formats.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.streamsql.formats.Json;
import io.streamsql.formats.MapValues;
import io.streamsql.formats.RecordException;
import io.streamsql.formats.SqlTime;
import io.streamsql.formats.TextValues;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads one JSON value as a SQL type, by ksqlDB's coercions: numbers are truncated to INT and
 * BIGINT, text is parsed for numbers and times, any value but null becomes STRING, BOOLEAN accepts
 * only true and false. A value that does not fit is an error, never a null.
 */
public abstract class JsonReader implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The value at the parser's current token, null for JSON null; leaves the parser on its end. */
  public final Object read(JsonParser parser) throws IOException, RecordException {
    return parser.currentToken() == JsonToken.VALUE_NULL ? null : readValue(parser);
  }

  abstract Object readValue(JsonParser parser) throws IOException, RecordException;

  public static JsonReader of(StructField field) {
    return of(field.dataType(), SqlTime.declared(field));
  }

  private static JsonReader of(DataType type, String declared) {
    if (type instanceof LongType) {
      return SqlTime.isTime(declared) ? new Time() : new BigInt();
    } else if (type instanceof DecimalType decimal) {
      return new Dec(decimal);
    } else if (type instanceof ArrayType array) {
      return new Array(of(array.elementType(), SqlTime.element(declared)));
    } else if (type instanceof MapType map) {
      if (!(map.keyType() instanceof StringType)) {
        throw new IllegalArgumentException(
            "JSON maps have STRING keys, not " + map.keyType().sql());
      }
      return new MapReader(of(map.valueType(), SqlTime.element(declared)));
    } else if (type instanceof StructType struct) {
      return new Struct(struct);
    }
    return simple(type);
  }

  private static JsonReader simple(DataType type) {
    if (type instanceof StringType) {
      return new Str();
    } else if (type instanceof IntegerType) {
      return new Int();
    } else if (type instanceof DoubleType) {
      return new Dbl();
    } else if (type instanceof BooleanType) {
      return new Bool();
    } else if (type instanceof DateType) {
      return new Date();
    } else if (type instanceof TimestampType) {
      return new Timestamp();
    } else if (type instanceof BinaryType) {
      return new Bytes();
    }
    throw new IllegalArgumentException("JSON does not support " + type.sql());
  }

  /** "expected INT, found object": containers by kind, scalars with their text. */
  static RecordException mismatch(String type, JsonParser parser) throws IOException {
    String found =
        switch (parser.currentToken()) {
          case START_OBJECT -> "object";
          case START_ARRAY -> "array";
          case VALUE_TRUE, VALUE_FALSE -> "boolean " + parser.getText();
          case VALUE_STRING -> "text " + TextValues.quoted(parser.getText());
          default -> "number " + parser.getText();
        };
    return TextValues.mismatch(type, found);
  }

  private static boolean isInteger(JsonParser parser) {
    return parser.currentToken() == JsonToken.VALUE_NUMBER_INT;
  }

  private static boolean isText(JsonParser parser) {
    return parser.currentToken() == JsonToken.VALUE_STRING;
  }

  private static boolean isNaN(JsonParser parser) throws IOException {
    return parser.isNaN();
  }

  /** A number as a long: the low 64 bits of an integer, the whole part of a fraction. */
  private static long truncated(JsonParser parser, String type)
      throws IOException, RecordException {
    if (isInteger(parser)) {
      return parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
          ? parser.getBigIntegerValue().longValue()
          : parser.getLongValue();
    } else if (parser.currentToken() == JsonToken.VALUE_NUMBER_FLOAT && !isNaN(parser)) {
      return parser.getDecimalValue().longValue();
    }
    throw mismatch(type, parser);
  }

  private static final class Int extends JsonReader {
    private static final long serialVersionUID = 1L;

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      return isText(parser) ? TextValues.toInt(parser.getText()) : (int) truncated(parser, "INT");
    }
  }

  private static final class BigInt extends JsonReader {
    private static final long serialVersionUID = 1L;

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      return isText(parser) ? TextValues.toLong(parser.getText()) : truncated(parser, "BIGINT");
    }
  }

  private static final class Dbl extends JsonReader {
    private static final long serialVersionUID = 1L;

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      if (isText(parser)) {
        return TextValues.toDouble(parser.getText());
      } else if (parser.currentToken().isNumeric()) {
        return parser.getDoubleValue();
      }
      throw mismatch("DOUBLE", parser);
    }
  }

  private static final class Dec extends JsonReader {
    private static final long serialVersionUID = 1L;
    private final DecimalType type;

    Dec(DecimalType type) {
      this.type = type;
    }

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      if (isText(parser)) {
        return TextValues.toDecimal(parser.getText(), type);
      } else if (parser.currentToken().isNumeric() && !isNaN(parser)) {
        return TextValues.fit(parser.getDecimalValue(), type);
      }
      throw mismatch(type.sql(), parser);
    }
  }

  private static final class Bool extends JsonReader {
    private static final long serialVersionUID = 1L;

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      if (parser.currentToken().isBoolean()) {
        return parser.getBooleanValue();
      }
      throw mismatch("BOOLEAN", parser);
    }
  }

  private static final class Str extends JsonReader {
    private static final long serialVersionUID = 1L;

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      return UTF8String.fromString(text(parser));
    }

    /** Objects as JSON text; arrays as Java prints a list, {@code [a, b]}, each element as text. */
    private static String text(JsonParser parser) throws IOException {
      if (parser.currentToken() == JsonToken.START_OBJECT) {
        return Json.TREES.readTree(parser).toString();
      } else if (parser.currentToken() != JsonToken.START_ARRAY) {
        return parser.getText();
      }
      StringBuilder list = new StringBuilder("[");
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        list.append(list.length() > 1 ? ", " : "").append(text(parser));
      }
      return list.append(']').toString();
    }
  }

  private static final class Bytes extends JsonReader {
    private static final long serialVersionUID = 1L;

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      if (isText(parser)) {
        return TextValues.toBytes(parser.getText());
      }
      throw mismatch("BYTES in base64", parser);
    }
  }

  private static final class Date extends JsonReader {
    private static final long serialVersionUID = 1L;

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      return isText(parser) ? TextValues.toDate(parser.getText()) : (int) truncated(parser, "DATE");
    }
  }

  private static final class Time extends JsonReader {
    private static final long serialVersionUID = 1L;

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      return isText(parser) ? TextValues.toTime(parser.getText()) : truncated(parser, "TIME");
    }
  }

  private static final class Timestamp extends JsonReader {
    private static final long serialVersionUID = 1L;

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      return isText(parser)
          ? TextValues.toTimestamp(parser.getText())
          : TextValues.micros(truncated(parser, "TIMESTAMP"));
    }
  }

  private static final class Array extends JsonReader {
    private static final long serialVersionUID = 1L;
    private final JsonReader element;

    Array(JsonReader element) {
      this.element = element;
    }

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      if (parser.currentToken() != JsonToken.START_ARRAY) {
        throw mismatch("ARRAY", parser);
      }
      List<Object> values = new ArrayList<>();
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        try {
          values.add(element.read(parser));
        } catch (RecordException e) {
          throw e.in("[" + values.size() + "]");
        }
      }
      return new GenericArrayData(values.toArray());
    }
  }

  private static final class MapReader extends JsonReader {
    private static final long serialVersionUID = 1L;
    private final JsonReader value;

    MapReader(JsonReader value) {
      this.value = value;
    }

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      if (parser.currentToken() != JsonToken.START_OBJECT) {
        throw mismatch("MAP", parser);
      }
      Map<Object, Object> entries = new LinkedHashMap<>(); // of duplicate keys the last one wins
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        String key = parser.currentName();
        parser.nextToken();
        try {
          entries.put(UTF8String.fromString(key), value.read(parser));
        } catch (RecordException e) {
          throw e.in("[" + TextValues.quoted(key) + "]");
        }
      }
      return MapValues.of(entries);
    }
  }

  /**
   * An object with known fields. A field is found by its exact name or, if there is none, by a name
   * that equals it in upper case: names that were not quoted in SQL are upper case.
   */
  static final class Struct extends JsonReader {
    private static final long serialVersionUID = 1L;
    private final String[] names;
    private final JsonReader[] readers;
    private final Map<String, Integer> positions = new HashMap<>();

    Struct(StructType type) {
      int count = type.length();
      names = new String[count];
      readers = new JsonReader[count];
      for (int i = 0; i < count; i++) {
        StructField field = type.fields()[i];
        names[i] = field.name();
        readers[i] = of(field);
        positions.put(field.name(), i);
      }
    }

    @Override
    Object readValue(JsonParser parser) throws IOException, RecordException {
      Object[] fields = new Object[readers.length];
      readInto(parser, fields, 0);
      return new GenericInternalRow(fields);
    }

    /** Fills {@code fields[at]} and the following from the object at the parser's position. */
    void readInto(JsonParser parser, Object[] fields, int at) throws IOException, RecordException {
      if (parser.currentToken() != JsonToken.START_OBJECT) {
        throw mismatch("STRUCT", parser);
      }
      boolean[] exact = new boolean[readers.length]; // set by its exact name, which has precedence
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        String name = parser.currentName();
        Integer position = positions.get(name);
        boolean isExact = position != null;
        if (!isExact) {
          position = positions.get(name.toUpperCase(Locale.ROOT));
        }
        parser.nextToken();
        if (position == null || (exact[position] && !isExact)) {
          parser.skipChildren();
          continue;
        }
        exact[position] |= isExact;
        try {
          fields[at + position] = readers[position].read(parser);
        } catch (RecordException e) {
          throw e.in("." + names[position]);
        }
      }
    }
  }
}
