package io.streamsql.formats.protobuf;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import io.streamsql.formats.Codec;
import io.streamsql.formats.Framing;
import io.streamsql.formats.RecordException;
import io.streamsql.formats.SchemaRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Protobuf: a message with one field per column, after the id of its schema and the message's index
 * in it. Not {@code framed}, it is the message alone, always of the given schema. {@link
 * ProtobufReader} and {@link ProtobufWriter} define how types are read and written.
 *
 * <p>Properties: those of {@link SchemaRegistry} for reading framed messages; {@code schema}, a
 * descriptor in base64, {@code schema.references}, {@code schema.message} and {@code schema.id}
 * otherwise.
 */
public final class ProtobufCodec implements Codec {
  private static final long serialVersionUID = 1L;

  private final StructType columns;
  private final boolean framed;
  private final SchemaRegistry registry;
  private final Map<String, String> properties;
  private transient volatile Map<Integer, Map<List<Integer>, ProtobufReader>> readers;
  private transient volatile ProtobufReader ownReader;
  private transient volatile ProtobufWriter writer;
  private transient volatile byte[] frame;

  public ProtobufCodec(StructType columns, boolean framed, Map<String, String> properties) {
    this.columns = columns;
    this.framed = framed;
    this.registry = SchemaRegistry.of(properties);
    this.properties = Map.copyOf(properties);
    if (properties.containsKey("schema")) {
      prepare(); // fails now, not with the first record, if the columns do not fit
    }
  }

  @Override
  public int width() {
    return columns.length();
  }

  @Override
  public boolean decode(byte[] bytes, Object[] fields, int at) throws RecordException {
    try {
      if (!framed) {
        prepare();
        ownReader.readInto(CodedInputStream.newInstance(bytes), fields, at);
        return true;
      }
      int id = Framing.schemaId(bytes);
      CodedInputStream in =
          CodedInputStream.newInstance(bytes, Framing.SIZE, bytes.length - Framing.SIZE);
      reader(id, indexes(in)).readInto(in, fields, at);
      return true;
    } catch (InvalidProtocolBufferException e) {
      throw new RecordException("invalid Protobuf: " + e.getMessage());
    } catch (IOException e) {
      throw new UncheckedIOException(e); // bytes in memory do not fail
    }
  }

  /** The message's index in its file, outermost first; a lone zero is the first message. */
  private static List<Integer> indexes(CodedInputStream in) throws IOException, RecordException {
    int count = in.readSInt32();
    if (count == 0) {
      return List.of(0);
    } else if (count < 0 || count > 100) {
      throw new RecordException("invalid Protobuf: " + count + " levels of messages");
    }
    List<Integer> indexes = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      indexes.add(in.readSInt32());
    }
    return indexes;
  }

  private ProtobufReader reader(int id, List<Integer> indexes) throws RecordException {
    Map<Integer, Map<List<Integer>, ProtobufReader>> known = readers;
    if (known == null) {
      synchronized (this) {
        if (readers == null) {
          readers = new ConcurrentHashMap<>();
        }
        known = readers;
      }
    }
    Map<List<Integer>, ProtobufReader> ofSchema =
        known.computeIfAbsent(id, key -> new ConcurrentHashMap<>());
    ProtobufReader reader = ofSchema.get(indexes);
    if (reader == null) {
      reader = new ProtobufReader(message(id, indexes), columns);
      ofSchema.put(indexes, reader);
    }
    return reader;
  }

  private Descriptor message(int id, List<Integer> indexes) throws RecordException {
    SchemaRegistry.Schema found = registry.byId(id, true);
    if (!found.type().equals("PROTOBUF")) {
      throw new RecordException(
          "the record's schema is of type " + found.type() + ", not PROTOBUF");
    }
    List<Descriptor> messages =
        ProtobufFiles.link(found.text(), found.references()).getMessageTypes();
    Descriptor message = null;
    for (int index : indexes) {
      if (index < 0 || index >= messages.size()) {
        throw new RecordException("the schema with the id " + id + " has no message " + indexes);
      }
      message = messages.get(index);
      messages = message.getNestedTypes();
    }
    return message;
  }

  @Override
  public byte[] encode(InternalRow row) {
    prepare();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);
    bytes.writeBytes(frame);
    CodedOutputStream out = CodedOutputStream.newInstance(bytes, 256);
    try {
      writer.writeFields(row, out);
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private void prepare() {
    if (writer != null) {
      return;
    }
    synchronized (this) {
      FileDescriptor file =
          ProtobufFiles.link(properties.get("schema"), SchemaRegistry.references(properties));
      Descriptor message = ProtobufFiles.message(file, properties.get("schema.message"));
      ownReader = new ProtobufReader(message, columns);
      frame = framed ? frame(message) : new byte[0];
      writer = new ProtobufWriter(message, columns);
    }
  }

  private byte[] frame(Descriptor message) {
    List<Integer> indexes = new ArrayList<>();
    for (Descriptor d = message; d != null; d = d.getContainingType()) {
      indexes.add(0, d.getIndex());
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes(Framing.frame(Integer.parseInt(properties.get("schema.id"))));
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    try {
      boolean first = indexes.equals(List.of(0));
      out.writeSInt32NoTag(first ? 0 : indexes.size());
      for (int index : first ? List.<Integer>of() : indexes) {
        out.writeSInt32NoTag(index);
      }
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }
}
