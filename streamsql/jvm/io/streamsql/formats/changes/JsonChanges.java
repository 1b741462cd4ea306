package io.streamsql.formats.changes;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.formats.Json;
import io.streamsql.formats.RecordException;
import io.streamsql.formats.json.JsonCodec;
import io.streamsql.formats.json.JsonReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The common part of JSON change formats: trees, and the columns that are read from them. */
abstract class JsonChanges implements ChangeReader {
  private static final long serialVersionUID = 1L;
  protected final RowImage image;
  private final JsonReader source;

  /**
   * @param columns of a row
   * @param source the type of the fields of a change's source; null: not read
   */
  JsonChanges(StructType columns, StructType source, ReadOptions options) {
    this.image = new RowImage(columns, options);
    this.source =
        source == null
            ? null
            : JsonReader.of(new StructField("SOURCE", source, true, Metadata.empty()));
  }

  /** Adds the changes in the object. */
  protected abstract void changes(JsonNode record, List<Change> out) throws RecordException;

  @Override
  public boolean read(byte[] value, List<Change> out) throws RecordException {
    JsonNode record = tree(value);
    if (record.isNull()) {
      return false;
    }
    changes(record, out);
    return true;
  }

  @Override
  public Object[] key(byte[] key) throws RecordException {
    JsonNode tree = tree(key);
    JsonNode found = tree.path("payload").isObject() ? tree.path("payload") : tree;
    Object[] columns = image.read(found, image.none());
    if (columns == null) {
      throw new RecordException("the key is not a JSON object");
    }
    return columns;
  }

  protected static JsonNode tree(byte[] bytes) throws RecordException {
    try {
      JsonNode found = Json.TREES.readTree(bytes);
      if (found.isObject() || found.isNull()) {
        return found;
      }
    } catch (JsonProcessingException e) {
      throw new RecordException("invalid JSON: " + JsonCodec.brief(e));
    } catch (IOException e) {
      throw new UncheckedIOException(e); // bytes in memory do not fail
    }
    throw new RecordException("expected a JSON object");
  }

  /** The requested fields of the change's source. */
  protected final Object source(JsonNode fields) throws RecordException {
    if (source == null || !fields.isObject()) {
      return null;
    }
    try (JsonParser parser = fields.traverse()) {
      parser.nextToken();
      return source.read(parser);
    } catch (RecordException e) {
      throw e.in(".source");
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a tree in memory does not fail
    }
  }

  protected static Long time(JsonNode milliseconds) {
    return milliseconds.isIntegralNumber() ? milliseconds.longValue() : null;
  }
}
