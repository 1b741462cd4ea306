package io.streamsql.formats.json;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import io.streamsql.formats.Codec;
import io.streamsql.formats.Json;
import io.streamsql.formats.RecordException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * JSON: an object with one field per column or, unwrapped, the bare value of the only column.
 * {@link JsonReader} and {@link JsonWriter} define how types are read and written.
 */
public final class JsonCodec implements Codec {
  private static final long serialVersionUID = 1L;

  private final boolean wrapped;
  private final StructField[] columns;
  private final JsonScanner scanner;
  private final JsonReader.Struct struct;
  private final JsonReader single;
  private final JsonWriter.Struct structWriter;
  private final JsonWriter singleWriter;

  public JsonCodec(StructType schema, boolean wrapped) {
    this(schema, wrapped, List.of());
  }

  /** Writes the fields {@code absent} too, always as null, if wrapped. */
  JsonCodec(StructType schema, boolean wrapped, List<String> absent) {
    this.columns = schema.fields();
    this.wrapped = wrapped;
    this.scanner = wrapped ? JsonScanner.of(schema) : null;
    this.struct = wrapped ? new JsonReader.Struct(schema) : null;
    this.structWriter = wrapped ? new JsonWriter.Struct(schema, absent) : null;
    this.single = wrapped ? null : JsonReader.of(columns[0]);
    this.singleWriter = wrapped ? null : JsonWriter.of(columns[0].dataType());
  }

  @Override
  public int width() {
    return columns.length;
  }

  @Override
  public boolean decode(byte[] bytes, Object[] fields, int at) throws RecordException {
    return decode(bytes, 0, fields, at);
  }

  /** As {@link Codec#decode}, of the bytes behind the first {@code skipped}. */
  boolean decode(byte[] bytes, int skipped, Object[] fields, int at) throws RecordException {
    return (scanner != null && scanner.read(bytes, skipped, fields, at))
        || parse(bytes, skipped, fields, at);
  }

  private boolean parse(byte[] bytes, int skipped, Object[] fields, int at) throws RecordException {
    try (JsonParser parser = Json.FACTORY.createParser(bytes, skipped, bytes.length - skipped)) {
      JsonToken first = parser.nextToken();
      if (first == null) {
        throw new RecordException("invalid JSON: the record is empty");
      }
      boolean row = first != JsonToken.VALUE_NULL;
      if (row && wrapped) {
        struct.readInto(parser, fields, at);
      } else if (row) {
        fields[at] = readSingle(parser);
      }
      if (parser.nextToken() != null) {
        throw new RecordException("invalid JSON: text after the end of the value");
      }
      return row;
    } catch (JsonProcessingException e) {
      throw new RecordException("invalid JSON: " + brief(e));
    } catch (IOException e) {
      throw new UncheckedIOException(e); // bytes in memory do not fail
    }
  }

  private Object readSingle(JsonParser parser) throws IOException, RecordException {
    try {
      return single.read(parser);
    } catch (RecordException e) {
      throw e.in("." + columns[0].name());
    }
  }

  /** The parser's own message and position, without the excerpt of its source. */
  public static String brief(JsonProcessingException e) {
    String where = "";
    if (e.getLocation() != null) {
      where =
          " (line "
              + e.getLocation().getLineNr()
              + ", column "
              + e.getLocation().getColumnNr()
              + ")";
    }
    return e.getOriginalMessage() + where;
  }

  @Override
  public byte[] encode(InternalRow row) {
    return encode(row, null);
  }

  /** As {@link Codec#encode}, with {@code frame} in front unless that is null. */
  byte[] encode(InternalRow row, byte[] frame) {
    if (!wrapped && row.isNullAt(0)) {
      return null;
    }
    try (ByteArrayBuilder out = new ByteArrayBuilder(Json.FACTORY._getBufferRecycler())) {
      if (frame != null) {
        out.write(frame);
      }
      try (JsonGenerator generator = Json.FACTORY.createGenerator(out)) {
        if (wrapped) {
          structWriter.writeFields(generator, row);
        } else {
          singleWriter.write(generator, row, 0);
        }
      }
      return out.getClearAndRelease();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a buffer in memory does not fail
    }
  }
}
