package io.streamsql.formats.avro;

import io.streamsql.formats.Codec;
import io.streamsql.formats.Framing;
import io.streamsql.formats.RecordException;
import io.streamsql.formats.SchemaRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Avro after the id of its writer's schema: a record with one field per column or, unwrapped, the
 * value of the only column. {@link AvroReader} and {@link AvroWriter} define how types are read and
 * written.
 *
 * <p>Properties: those of {@link SchemaRegistry} for reading; {@code schema}, {@code
 * schema.references} and {@code schema.id} for writing.
 */
public final class AvroCodec implements Codec {
  private static final long serialVersionUID = 1L;

  // Bounds the length that a broken record may request; Avro reads these once, when it is loaded.
  static {
    limit("bytes.maxLength", 256 << 20);
    limit("string.maxLength", 256 << 20);
    limit("collectionItems.maxLength", 16 << 20);
  }

  private static final ThreadLocal<BinaryDecoder> DECODER = new ThreadLocal<>();
  private static final ThreadLocal<BinaryEncoder> ENCODER = new ThreadLocal<>();

  private final StructType columns;
  private final boolean wrapped;
  private final SchemaRegistry registry;
  private final String writerSchema;
  private final Map<String, String> references;
  private final byte[] frame;
  private transient volatile Map<Integer, AvroReader> readers;
  private transient volatile AvroWriter writer;

  public AvroCodec(StructType columns, boolean wrapped, Map<String, String> properties) {
    this.columns = columns;
    this.wrapped = wrapped;
    this.registry = SchemaRegistry.of(properties);
    this.writerSchema = properties.get("schema");
    this.references = SchemaRegistry.references(properties);
    String id = properties.get("schema.id");
    this.frame = id == null ? null : Framing.frame(Integer.parseInt(id));
    if (writerSchema != null) {
      writer = newWriter(); // fails now, not with the first record, if the columns do not fit
    }
  }

  private static void limit(String name, int most) {
    String property = "org.apache.avro.limits." + name;
    if (System.getProperty(property) == null) {
      System.setProperty(property, Integer.toString(most));
    }
  }

  @Override
  public int width() {
    return columns.length();
  }

  @Override
  public boolean decode(byte[] bytes, Object[] fields, int at) throws RecordException {
    AvroReader reader = reader(Framing.schemaId(bytes));
    BinaryDecoder in =
        DecoderFactory.get()
            .binaryDecoder(bytes, Framing.SIZE, bytes.length - Framing.SIZE, DECODER.get());
    DECODER.set(in);
    Object value;
    try {
      value = reader.read(in);
      if (!in.isEnd()) {
        throw new RecordException("invalid Avro: bytes after the end of the value");
      }
    } catch (IOException | RuntimeException e) { // Avro does not specify which
      throw new RecordException("invalid Avro: " + e.getMessage());
    }
    if (value == null) {
      return false;
    } else if (wrapped) {
      GenericInternalRow row = (GenericInternalRow) value;
      for (int i = 0; i < columns.length(); i++) {
        fields[at + i] = row.genericGet(i);
      }
    } else {
      fields[at] = value;
    }
    return true;
  }

  private AvroReader reader(int id) throws RecordException {
    Map<Integer, AvroReader> known = readers;
    if (known == null) {
      synchronized (this) {
        if (readers == null) {
          readers = new ConcurrentHashMap<>();
        }
        known = readers;
      }
    }
    AvroReader reader = known.get(id);
    if (reader == null) {
      Schema schema = parse(registry.byId(id, false));
      reader =
          wrapped ? AvroReader.of(schema, columns, "") : AvroReader.of(columns.fields()[0], schema);
      known.put(id, reader);
    }
    return reader;
  }

  private static Schema parse(SchemaRegistry.Schema found) throws RecordException {
    if (!found.type().equals("AVRO")) {
      throw new RecordException("the record's schema is of type " + found.type() + ", not AVRO");
    }
    Schema.Parser parser = new Schema.Parser();
    found.references().values().forEach(parser::parse);
    return parser.parse(found.text());
  }

  @Override
  public byte[] encode(InternalRow row) {
    if (!wrapped && row.isNullAt(0)) {
      return null;
    }
    if (writer == null) {
      writer = newWriter();
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);
    bytes.writeBytes(frame);
    BinaryEncoder out = EncoderFactory.get().binaryEncoder(bytes, ENCODER.get());
    ENCODER.set(out);
    try {
      if (wrapped) {
        ((AvroWriter.Struct) writer).writeFields(row, out);
      } else {
        writer.write(row, 0, out);
      }
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // bytes in memory do not fail
    }
    return bytes.toByteArray();
  }

  private AvroWriter newWriter() {
    Schema.Parser parser = new Schema.Parser();
    references.values().forEach(parser::parse);
    Schema schema = parser.parse(writerSchema);
    return wrapped
        ? new AvroWriter.Struct(AvroWriter.only(schema, Schema.Type.RECORD), columns)
        : AvroWriter.of(schema, columns.fields()[0]);
  }
}
