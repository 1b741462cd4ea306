package io.streamsql.formats.protobuf;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.WireFormat;
import io.streamsql.formats.FieldNames;
import io.streamsql.formats.MapValues;
import io.streamsql.formats.RecordException;
import io.streamsql.formats.SqlTime;
import io.streamsql.formats.TextValues;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Reads a message as a row, straight from its bytes. A missing field has the type's default (zero,
 * empty text, false, no elements), or null if the schema tracks presence; BYTES are null too.
 * Fields without a column are skipped.
 */
final class ProtobufReader {
  private static final int MAX_DEPTH = 100;
  private final int width;
  private final Map<Integer, Field> fields = new HashMap<>();

  ProtobufReader(Descriptor message, StructType struct) {
    this(message, struct, 0);
  }

  private ProtobufReader(Descriptor message, StructType struct, int depth) {
    if (depth > MAX_DEPTH) {
      throw new IllegalArgumentException("messages are nested too deep");
    }
    width = struct.length();
    List<FieldDescriptor> written = message.getFields();
    int[] positions =
        FieldNames.positions(struct, written.stream().map(FieldDescriptor::getName).toList());
    for (int i = 0; i < positions.length; i++) {
      if (positions[i] >= 0) {
        FieldDescriptor descriptor = written.get(i);
        StructField column = struct.fields()[positions[i]];
        fields.put(descriptor.getNumber(), Field.of(descriptor, column, positions[i], depth));
      }
    }
  }

  /** The message up to the stream's limit. */
  GenericInternalRow read(CodedInputStream in) throws IOException, RecordException {
    Object[] values = new Object[width];
    readInto(in, values, 0);
    return new GenericInternalRow(values);
  }

  void readInto(CodedInputStream in, Object[] values, int at) throws IOException, RecordException {
    Object[] found = new Object[width];
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      Field field = fields.get(WireFormat.getTagFieldNumber(tag));
      if (field == null || !field.accepts(WireFormat.getTagWireType(tag))) {
        in.skipField(tag);
        continue;
      }
      try {
        found[field.position] = field.read(in, tag, found[field.position]);
      } catch (RecordException e) {
        throw e.in("." + field.name);
      }
    }
    for (Field field : fields.values()) {
      values[at + field.position] = field.finish(found[field.position]);
    }
  }

  /** A message after its length. */
  private GenericInternalRow readNested(CodedInputStream in) throws IOException, RecordException {
    int old = in.pushLimit(in.readRawVarint32());
    GenericInternalRow row = read(in);
    in.checkLastTagWas(0);
    in.popLimit(old);
    return row;
  }

  /** One value, after its tag. */
  interface Value {
    Object read(CodedInputStream in) throws IOException, RecordException;
  }

  /** One field: single, repeated or a map. */
  private static final class Field {
    final String name;
    final int position;
    private final boolean repeated;
    private final boolean map;
    private final int wireType;
    private final Value value;
    private final Object absent;

    private Field(FieldDescriptor field, int position, Value value, Object absent) {
      this.name = field.getName();
      this.position = position;
      this.repeated = field.isRepeated();
      this.map = field.isMapField();
      this.wireType = field.getLiteType().getWireType();
      this.value = value;
      this.absent = absent;
    }

    static Field of(FieldDescriptor field, StructField column, int position, int depth) {
      DataType type = column.dataType();
      String declared = SqlTime.declared(column);
      if (field.isMapField()) {
        return new Field(field, position, entry(field, type, declared, depth), null);
      } else if (field.isRepeated()) {
        Value element =
            type instanceof ArrayType array
                ? value(field, array.elementType(), depth)
                : mismatch("repeated", type);
        return new Field(field, position, element, null);
      }
      Value value = value(field, type, depth);
      boolean isBytes = field.getJavaType() == JavaType.BYTE_STRING;
      Object absent = field.hasPresence() || isBytes ? null : ProtobufValues.absent(field, type);
      return new Field(field, position, value, absent);
    }

    /** A pair as a row of key and value. */
    private static Value entry(FieldDescriptor field, DataType type, String declared, int depth) {
      if (!(type instanceof MapType map)) {
        return mismatch("map", type);
      }
      String inner = SqlTime.element(declared);
      StructType pair =
          new StructType()
              .add("key", map.keyType())
              .add(new StructField("value", map.valueType(), true, FieldNames.time(inner)));
      ProtobufReader reader = new ProtobufReader(field.getMessageType(), pair, depth + 1);
      return reader::readNested;
    }

    private static Value value(FieldDescriptor field, DataType type, int depth) {
      if (field.getJavaType() == JavaType.MESSAGE) {
        Value known = ProtobufValues.wellKnown(field.getMessageType(), type);
        if (known != null) {
          return known;
        } else if (type instanceof StructType struct) {
          return new ProtobufReader(field.getMessageType(), struct, depth + 1)::readNested;
        }
      } else {
        Value scalar = ProtobufValues.scalar(field, type);
        if (scalar != null) {
          return scalar;
        }
      }
      return mismatch(field.getType().name().toLowerCase(java.util.Locale.ROOT), type);
    }

    private static Value mismatch(String found, DataType type) {
      RecordException problem = TextValues.mismatch(type.sql(), "Protobuf " + found);
      return in -> {
        throw problem;
      };
    }

    /** Whether the wire type fits the field; lists of numbers may be packed, too. */
    boolean accepts(int found) {
      return found == wireType || repeated && found == WireFormat.WIRETYPE_LENGTH_DELIMITED;
    }

    /** The field's value after one more occurrence; lists as {@code List<Object>}. */
    Object read(CodedInputStream in, int tag, Object before) throws IOException, RecordException {
      if (!repeated) {
        return value.read(in);
      }
      @SuppressWarnings("unchecked")
      List<Object> values = before == null ? new ArrayList<>() : (List<Object>) before;
      boolean packed =
          WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_LENGTH_DELIMITED
              && wireType != WireFormat.WIRETYPE_LENGTH_DELIMITED;
      if (packed) {
        int old = in.pushLimit(in.readRawVarint32());
        while (in.getBytesUntilLimit() > 0) {
          values.add(value.read(in));
        }
        in.popLimit(old);
      } else {
        values.add(value.read(in));
      }
      return values;
    }

    Object finish(Object found) {
      if (!repeated) {
        return found == null ? absent : found;
      }
      List<?> values = found == null ? List.of() : (List<?>) found;
      return map ? mapData(values) : new GenericArrayData(values.toArray());
    }

    private static ArrayBasedMapData mapData(List<?> pairs) {
      Map<Object, Object> entries = new LinkedHashMap<>();
      for (Object pair : pairs) {
        GenericInternalRow row = (GenericInternalRow) pair;
        entries.put(row.genericGet(0), row.genericGet(1));
      }
      return MapValues.of(entries);
    }
  }
}
